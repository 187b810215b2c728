# SPDX-License-Identifier: Apache-2.0
run 0 train --data digits:1000 --network 784-32-10 --epochs 4 --batch 50 --validation 0.1 --out "$work/run" \
      --json "$work/t.json"
says out "784-32-10"; says out "dropped/grown"; says out "rows right"; says out "$work/run"
for file in model.safetensors metrics.jsonl config.toml checkpoint.safetensors; do
  check test -s "$work/run/$file"
done
check test "$(wc -l < "$work/run/metrics.jsonl")" -eq 4
for field in test_accuracy test_loss sparsity nnz epochs seconds evolve_seconds layers inputs outputs connections \
             seed threads history train_loss validation_accuracy data processor; do
  grep -q "\"$field\":" "$work/t.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
done
# A tenth would be right by chance.
check awk -F'[:,]' '/^  "test_accuracy"/ { good = $2 > 0.3 && $2 <= 1 } END { exit !good }' "$work/t.json"
# The file says everything: the same network comes out, whatever the threads.
run 0 train --config "$work/run/config.toml" --threads 1 --out "$work/again" --quiet
check test ! -s "$work/out"
check cmp "$work/run/model.safetensors" "$work/again/model.safetensors"
run 0 info "$work/run/model.safetensors"; says out "2 layers"
# Without --network the data give the shape; without files nothing is written.
run 0 train --data digits:200 --epochs 1 --dense --json -
check test "$(head -c 1 "$work/out")" = "{"
check grep -q '"validation_accuracy": null' "$work/out"
run 0 train --data digits:200 --epochs 1 --test-every-epoch --no-free-lost
says out "784-256-256-10"; says out "--out RUN"; check grep -q ' test ' "$work/out"
# Defaults < preset < file < command line; a preset of the command line beats the file's.
printf 'preset = "best"\nepochs = 2\nnetwork = [784, 16, 10]\n[data]\nsource = "digits:200"\n' > "$work/c.toml"
run 0 train --config "$work/c.toml" --out "$work/p1" --lr 0.05
check grep -q '^weight-decay = 0.0007' "$work/p1/config.toml"
check grep -q '^lr = 0.05' "$work/p1/config.toml"
check grep -q '^epochs = 2 ' "$work/p1/config.toml"
run 0 train --config "$work/c.toml" --out "$work/p2" --preset fast --epochs 1 --data digits:300
check grep -q '^weight-decay = 0.0005' "$work/p2/config.toml"
check grep -q '^epochs = 1 ' "$work/p2/config.toml"
check grep -q '^source = "digits:300"' "$work/p2/config.toml"
run 0 train --data digits:200 --network 784-20-10 --epochs 1 --distribution densities --densities 0.5,0.25 \
      --json "$work/d.json"
check grep -q '"connections": 7840' "$work/d.json"
# Going on from a network: the same one at a learning rate of zero, a smaller one if it is pruned.
run 0 train --data digits:200 --network 784-20-10 --epochs 2 --dense --out "$work/full"
run 0 train --data digits:200 --start "$work/full" --lr 0 --evolve none --epochs 1 --out "$work/same"
check cmp "$work/full/model.safetensors" "$work/same/model.safetensors"
run 0 train --data digits:200 --start "$work/full/model.safetensors" --evolve prune --final-sparsity 0.95 --update-every 1 \
      --epochs 4 --out "$work/pruned" --json "$work/p.json"
says out "pruned: weights by magnitude, until 95 % are gone"
check test "$(grep -o '"nnz": [0-9]*' "$work/p.json" | grep -o '[0-9]*')" -le 794
check test "$(stat -c %s "$work/full/model.safetensors")" -gt $((8 * $(stat -c %s "$work/pruned/model.safetensors")))
run 2 train --data digits:200 --start "$work/full" --network 784-16-10; says err --start
run 1 train --data digits:200 --start "$work/none"; says err none
run 1 train --data digits:200 --start "$work/full" --evolve prune; says err "final sparsity"
run 1 train --data digits:200 --start "$work/full" --evolve prune --final-sparsity 0.9999; says err "are the least"
run 1 train --data digits:200 --start "$work/full" --evolve prune --final-sparsity 0.9 --epochs 1 --update-every 50; says err "nothing would be pruned"
run 1 train --data "csv:$work/t.csv" --start "$work/full"
# Comma-separated tables.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "$((i % 2)),$i,$((i * i))"; done > "$work/t.csv"
run 0 train --data "csv:$work/t.csv" --epochs 2 --network 2-4-2 --batch 4 --sparsity 0.3 --test-share 0.25 --data-seed 3
# Output into a pipe that closes, or onto a full disk.
"$program" train --data digits:200 --network 784-16-10 --epochs 1 | head -n 1 > /dev/null
code=0; "$program" train --data digits:200 --network 784-16-10 --epochs 1 > /dev/full 2> "$work/err" || code=$?
check test "$code" -eq 1
