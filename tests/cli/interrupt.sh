# SPDX-License-Identifier: Apache-2.0
"$program" challenge --neurons 1024 --layers 1920 --engine plain --repeat 100000 --inputs 2000 \
  --check none --json "$work/never.json" > "$work/out" 2> "$work/err" &
pid=$!
sleep 3
kill -INT $pid
code=0; waited=$SECONDS; wait $pid || code=$?
check test "$code" -eq 1
check test $((SECONDS - waited)) -le 15
says err interrupted
check test ! -e "$work/never.json"
