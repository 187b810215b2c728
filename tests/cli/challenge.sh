# SPDX-License-Identifier: Apache-2.0
for engine in plain compiled; do
  run 0 challenge --neurons 256 --layers 30 --inputs 1500 --engine $engine --repeat 3 --check full \
        --json "$work/$engine.json" --write-categories "$work/$engine.tsv"
  says out "against the double-precision reference: the same"
  for field in neurons layers inputs connections engine threads seconds seconds_all rate load_seconds \
               compile_seconds compiled_connections categories verified mismatches live_rows distinct_rows \
               peak_memory_bytes processor; do
    grep -q "\"$field\":" "$work/$engine.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
  done
done
check cmp "$work/plain.tsv" "$work/compiled.tsv"
check test -s "$work/plain.tsv"
for option in --no-filter --no-merge-rows "--memory-limit 3MiB" "--threads 1" "--threads 3"; do
  run 0 challenge --neurons 256 --layers 30 --inputs 1500 --engine plain $option --write-categories "$work/o.tsv"
  check cmp "$work/plain.tsv" "$work/o.tsv"
done
run 0 challenge --neurons 256 --layers 5 --inputs 100 --quiet
check test ! -s "$work/out"
run 1 challenge --neurons 256 --layers 5 --inputs 1000 --memory-limit 100; says err "memory limit"
