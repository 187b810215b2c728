# SPDX-License-Identifier: Apache-2.0
run 0 bench kernels --neurons 64 --fan-in 8 --repeat 1 --time-model "$work/time.json" --rows 64
says out "parts of a call of 64 rows"; says out eights
run 0 train --data digits:1000 --network 784-64-32-10 --epochs 3 --dense --out "$work/full"
run 0 prune "$work/full" --data digits:1000 --method fssl --time-model "$work/time.json" --target 0.9 --epochs 4 \
      --update-every 3 --out "$work/small" --json "$work/p.json"
says out "ms predicted for 64 rows"; says out "batch 512"; check grep -q '"predicted_milliseconds":' "$work/p.json"
sed 's/"processor": ".*"/"processor": "Analytical Engine"/' "$work/time.json" > "$work/other.json"
run 0 prune "$work/full" --data digits:1000 --method fssl --time-model "$work/other.json" --epochs 4 --update-every 3 \
      --out "$work/timed"
says out "Analytical Engine"; says out "measured again"; says out "ms predicted for 64 rows"
run 0 bench compression --data digits:600 --epochs 4 --target 0.8 --sparse-target 0.9 --json "$work/b.json"
for method in dense fssl magnitude taylor random neurons blocks lottery "sparse from scratch"; do says out "$method"; done
run 0 bench kernels --neurons 64 --repeat 1 --json "$work/k.json"
check grep -qE "^spgemm +64 +2048 " "$work/out"
for field in dense_fma_rate connections_per_second share_of_dense spmm/n=64,k=32 times_copy over_eigen spgemm/n=64; do
  grep -q "\"$field\"" "$work/k.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
done
run 0 bench challenge --neurons 256 --layers 10 --inputs 200 --repeat 1 --json "$work/b.json"
for field in plain compiled seconds rate; do
  grep -q "\"$field\"" "$work/b.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
done
run 0 bench training --no-extras --repeat 1 --sparsity 0.9,0.99 --inputs 640 --json "$work/t.json"
says out "training step, 784-256-256-256-10, batch 512"
for field in dense_fma_rate rows task sparsity milliseconds speedup; do
  grep -q "\"$field\"" "$work/t.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
done
check [ "$(grep -c '"task"' "$work/t.json")" -eq 6 ]  # inference and step: dense and two sparsities each
run 2 bench training --sparsity 1.5
run 1 bench accuracy --fashion none --mnist "$work/nowhere" --seeds 1; says err nowhere
