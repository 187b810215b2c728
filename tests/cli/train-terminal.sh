# SPDX-License-Identifier: Apache-2.0
script -qec true "$work/typescript" < /dev/null > /dev/null 2>&1 || { echo "SKIPPED: no script(1), or no terminal to be had"; exit 77; }
for columns in 200 80 40 12; do
  # Epochs of half a second or more: the live line is drawn ten times a second.
  script -qec "stty cols $columns; '$program' train --data digits:20000 --network 784-512-512-10 --epochs 2 --dense --threads 1 \
    > '$work/out'" "$work/typescript" < /dev/null > /dev/null
  check test "$(grep -c '%' "$work/out")" -ge 2  # the table has no escapes in it
  check test "$(grep -c $'\x1b' "$work/out")" -eq 0
  tr '\r' '\n' < "$work/typescript" | sed 's/\x1b\[K//g' | grep '^epoch' > "$work/err"
  check test -s "$work/err"
  check awk -v most=$((columns - 1)) 'length($0) > most { print "too long: " $0; bad = 1 } END { exit bad }' "$work/err"
  [ $columns -lt 80 ] || { says err loss; says err nnz; }
  [ $columns -lt 200 ] || { says err " left"; says err "samples/s"; says err "["; }
  [ $columns -gt 40 ] || check test "$(grep -c ' left' "$work/err")" -eq 0
done
