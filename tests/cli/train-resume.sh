# SPDX-License-Identifier: Apache-2.0
# About a second of work even where syncing files costs nothing, so that the stop comes in its middle: 4000 rows,
# or fewer if the build says so because it is slow.
rows=${FILIGREE_RESUME_ROWS:-4000}
settings="--data digits:$rows --network 784-256-256-10 --epochs 20 --validation 0.1 --dropout 0.1 --update-every 20"
run 0 train $settings --out "$work/whole" --quiet
# Stopped by Ctrl-C after a few epochs, then continued: the same network, bit for bit.
"$program" train $settings --out "$work/halved" > "$work/out" 2> "$work/err" &
pid=$!
for ((i = 0; i < 6000; ++i)); do
  [ "$(cat "$work/halved/metrics.jsonl" 2> /dev/null | wc -l)" -ge 3 ] && break
  sleep 0.02
done
kill -INT $pid
code=0; waited=$SECONDS; wait $pid || code=$?
check test "$code" -eq 1
check test $((SECONDS - waited)) -le 15
says err "filigree train --resume $work/halved"
check test ! -e "$work/halved/model.safetensors"
check test "$(wc -l < "$work/halved/metrics.jsonl")" -lt 20
# Other settings than those it began with are refused, and leave it as it is.
run 1 train --resume "$work/halved" --lr 0.5; says err lr
run 1 train --resume "$work/halved" --data digits:$((rows + 1)); says err "other data"
run 0 train --resume "$work/halved" --lr 0.1 --json "$work/r.json"
check cmp "$work/whole/model.safetensors" "$work/halved/model.safetensors"
check test "$(wc -l < "$work/halved/metrics.jsonl")" -eq 20
check grep -q '"epochs": 20' "$work/r.json"
# Without a directory there is nothing to go on from.
"$program" train --data digits:2000 --epochs 100000 > "$work/out" 2> "$work/err" &
pid=$!
sleep 2
kill -INT $pid
code=0; wait $pid || code=$?
check test "$code" -eq 1
says err interrupted; says err "--out RUN"
