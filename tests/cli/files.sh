# SPDX-License-Identifier: Apache-2.0
make_challenge
for engine in plain compiled; do
  run 0 challenge --neurons 256 --data "$work/c" --engine $engine; says out "against the official list: the same"
done
run 0 challenge --neurons 256 --data "$work/c" --layers 12 --inputs 700; says out "official list: the same"
gzip -r "$work/c"
run 0 challenge --neurons 256 --data "$work/c"; says out "against the official list: the same"
gunzip -r "$work/c"
# CRLF and another order are fine.
layer="$work/c/neuron256/n256-l3.tsv"
tac "$layer" | sed 's/$/\r/' > "$work/crlf" && cp "$work/crlf" "$layer"
run 0 challenge --neurons 256 --data "$work/c"; says out "against the official list: the same"
# A wrong list is found out, with the rows.
categories="$work/c/neuron256-l12-categories.tsv"
cp "$categories" "$work/right"
removed=$(sed -n 2p "$categories"); sed -i 2d "$categories"
run 1 challenge --neurons 256 --data "$work/c" --json "$work/wrong.json"
says err "wrong answer"; says err "$removed"
grep -q '"mismatches": 1,' "$work/wrong.json" || { echo "FAILED: mismatches in JSON"; failures=1; }
cp "$work/right" "$categories"
echo 1501 >> "$categories"
run 1 challenge --neurons 256 --data "$work/c"; says err 1501
run 0 challenge --neurons 256 --data "$work/c" --check none
run 1 generate challenge-files --neurons 256 --layers 3 --inputs 10 --out "$work/c"; says err "already there"
