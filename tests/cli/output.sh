# SPDX-License-Identifier: Apache-2.0
# Nothing is lost or left half written when a file cannot be.
run 1 challenge --neurons 256 --layers 3 --inputs 50 --json /dev/full; says err "No space left"
run 1 challenge --neurons 256 --layers 3 --inputs 50 --write-categories "$work/no/such/place"
says err "$work/no/such/place"
check test ! -s "$work/out"  # said before the work, not after
run 1 generate network --neurons 256 --layers 3 --out /dev/full; says err "No space left"
code=0; "$program" info > /dev/full 2> "$work/err" || code=$?
check test "$code" -eq 1
"$program" --help | head -n 1 > /dev/null
# Progress goes to standard error; standard output stays clean for pipes.
run 0 challenge --neurons 256 --layers 3 --inputs 50 --json -
check grep -q '"neurons": 256' "$work/out"
check test "$(head -c 1 "$work/out")" = "{"
