# SPDX-License-Identifier: Apache-2.0
run 0 generate network --neurons 256 --layers 9 --seed 3 --out "$work/m.safetensors"
run 0 info "$work/m.safetensors"; says out "73,728"
run 0 compile "$work/m.safetensors" --out "$work/small.safetensors" --json "$work/compile.json"
says out "merge duplicate neurons"
grep -q '"connections_before": 73728' "$work/compile.json" || { echo "FAILED: compile JSON"; failures=1; }
run 0 info "$work/small.safetensors" --all; says out compiled
run 0 compile "$work/small.safetensors"; says out "100.00 %"  # nothing left to remove
check test "$(stat -c %s "$work/small.safetensors")" -lt "$(stat -c %s "$work/m.safetensors")"
head -c 3000 "$work/m.safetensors" > "$work/cut.safetensors"
run 1 info "$work/cut.safetensors"; says err cut.safetensors
run 0 generate images --neurons 256 --inputs 20 --out "$work/images.tsv.gz"
check test "$(zcat "$work/images.tsv.gz" | cut -f1 | sort -nu | wc -l)" -eq 20
make_challenge
run 0 info "$work/c" --neurons 256; says out "12 layers"
run 0 compile "$work/c" --neurons 256; says out "→"
