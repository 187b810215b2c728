# SPDX-License-Identifier: Apache-2.0
run 0 sweep --data digits:400 --network 784-32-32-10 --budgets 1600,8000 --seeds 2 --epochs 1 --out "$work/s" --json "$work/s.json"
says out "1,592"; says out "result"; says out sweep.svg
check test "$(wc -l < "$work/s/sweep.csv")" -eq 9
check grep -q '"sentence":' "$work/s.json"
command -v xmllint > /dev/null && check xmllint --noout "$work/s/sweep.svg"
head -n 4 "$work/s/sweep.csv" > "$work/part"; cp "$work/part" "$work/s/sweep.csv"
run 0 sweep --resume "$work/s"
check test "$(wc -l < "$work/s/sweep.csv")" -eq 9
run 1 sweep --data digits:400 --out "$work/s"; says err "holds a run already"
run 1 sweep --data digits:400 --budgets 20 --out "$work/none"; says err "are the least"
run 1 sweep --resume "$work/none"; says err none
run 2 sweep --resume "$work/s" --epochs 9; says err --epochs
run 2 sweep --data digits:400; says err --out
# Stopped in its middle.
"$program" sweep --data digits:2000 --epochs 200 --out "$work/halved" > "$work/out" 2> "$work/err" &
pid=$!
for ((i = 0; i < 3000; ++i)); do
  [ -s "$work/halved/sweep.csv" ] && break
  sleep 0.02
done
kill -INT $pid
code=0; wait $pid || code=$?
check test "$code" -eq 1
says err "filigree sweep --resume $work/halved"
