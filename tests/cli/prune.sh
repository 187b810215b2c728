# SPDX-License-Identifier: Apache-2.0
run 0 train --data digits:1000 --network 784-64-32-10 --epochs 3 --dense --out "$work/full"
for method in magnitude taylor "random --once" neurons "blocks --group-size 4" "neurons --shrink 0.001"; do
  rm -rf "$work/small"
  run 0 prune "$work/full" --data digits:1000 --method $method --target 0.95 --epochs 4 --update-every 3 \
        --out "$work/small" --json "$work/p.json"
  says out "until 95 % are gone"; says out "batch 512"; says out smaller; says out points
  for field in before after parameters file_bytes memory_bytes accuracy timings neurons; do
    check grep -q "\"$field\":" "$work/p.json"
  done
  check test "$(stat -c %s "$work/full/model.safetensors")" -gt $((8 * $(stat -c %s "$work/small/compact.safetensors")))
  check cmp "$work/full/model.safetensors" "$work/small/original.safetensors"
done
run 0 prune "$work/full" --data digits:1000 --method n-of-m --group-size 16 --group-kept 1 --epochs 4 --update-every 3 \
      --out "$work/pattern"
says out "1 of 16 inputs in a row stay"
run 0 eval "$work/small/compact.safetensors" --data digits:1000; says out accuracy
run 0 eval "$work/small" --data digits:1000; says out accuracy
rm -rf "$work/small"
run 0 prune "$work/full" --data digits:1000 --method lottery --rounds 2 --target 0.9 --epochs 4 --update-every 3 \
      --out "$work/small" --json "$work/p.json"
says out "lottery ticket of 90 % sparsity in 2 rounds"; says out "round 2"; says out "batch 512"
run 0 prune "$work/full" --data digits:1000 --method neurons --epochs 4 --update-every 3 --out "$work/timed"
run 1 prune "$work/full" --data digits:1000 --method fssl --update-every 3 --time-model "$work/none.json" --out "$work/none"; says err none.json
run 1 prune "$work/full" --data digits:1000 --method fssl --update-every 3 --time-model "$work/full/config.toml" --out "$work/none"
says err "is no time model"
run 1 prune "$work/full" --data digits:1000 --shrink 0.1 --out "$work/none"; says err "there is no structure"
run 1 prune "$work/full" --data digits:1000 --time-weight 1 --out "$work/none"; says err "there is no structure"
run 2 prune "$work/full" --data digits:1000 --method fssl --rows 8 --out "$work/none"; says err rows
# A compact network, whose inputs are fewer, gives a ticket as well.
run 0 prune "$work/timed/compact.safetensors" --data digits:1000 --method lottery --target 0.95 --rounds 1 --epochs 2 --out "$work/ticket"
says out "round 1"
run 1 prune "$work/timed/compact.safetensors" --data digits:1000 --method lottery --target 0.2 --out "$work/none"; says err already
# A compact network can be pruned further.
run 0 prune "$work/timed/compact.safetensors" --data digits:1000 --target 0.97 --epochs 4 --update-every 3 --out "$work/further"
says out "weights by magnitude, until 97 % are gone"
# Stopped in its middle and continued.
"$program" prune "$work/full" --data digits:1000 --epochs 100000 --update-every 3 --out "$work/halved" > "$work/out" 2> "$work/err" &
pid=$!
for ((i = 0; i < 3000; ++i)); do
  [ -s "$work/halved/checkpoint.safetensors" ] && break
  sleep 0.02
done
kill -INT $pid
code=0; wait $pid || code=$?
check test "$code" -eq 1
says err "filigree prune --resume $work/halved"
run 1 prune --resume "$work/halved" --epochs 3; says err epochs
run 0 prune --resume "$work/small"; says out "batch 512"  # nothing left to do but to measure
# What cannot be.
run 1 prune "$work/full" --data digits:1000 --out "$work/small"; says err "holds a run already"
run 1 prune "$work/full" --data digits:1000 --target 0.99999 --out "$work/none"; says err "are the least"
run 1 prune "$work/none.safetensors" --data digits:1000 --out "$work/none"; says err none.safetensors
run 2 prune; says err MODEL
run 2 prune "$work/full" --data digits:1000; says err --out
run 2 prune "$work/full" --data digits:1000 --out "$work/none" --target 1; says err "below 1"
run 2 prune "$work/full" --data digits:1000 --out "$work/none" --method magic; says err magic
run 1 prune "$work/full" --data digits:1000 --out "$work/none" --method n-of-m --group-size 4 --group-kept 5; says err "5 of 4"
printf '1,2,3\n0,3,4\n' > "$work/t.csv"
run 1 prune "$work/full" --data "csv:$work/t.csv" --out "$work/none"; says err 784
