# SPDX-License-Identifier: Apache-2.0
# Two classes that a straight line divides. The last column is the label.
for i in $(seq 1 60); do echo "$i,$((i * 7 % 13)),$((i > 30))"; done > "$work/t.csv"
run 0 train --data "csv:$work/t.csv" --label-column 3 --network 2-8-2 --sparsity 0.2 --batch 10 --epochs 20 \
      --test-share 0 --out "$work/run"
model="$work/run/model.safetensors"
run 0 eval "$model" --data "csv:$work/t.csv" --label-column 3 --test-share 0 --part train --json "$work/e.json"
wrong=$(sed -nE 's/^  "wrong": ([0-9]+),$/\1/p' "$work/e.json")
cut -d, -f1,2 "$work/t.csv" > "$work/rows.csv"
run 0 predict "$model" --input "$work/rows.csv" --out "$work/p.csv" --json "$work/p.json"; says out "60"
check test "$(head -n 1 "$work/p.csv")" = "class,p0,p1"
check test "$(tail -n +2 "$work/p.csv" | cut -d, -f1 | paste -d, - <(cut -d, -f3 "$work/t.csv") |
              awk -F, '$1 != $2' | wc -l)" -eq "$wrong"
check awk -F, 'NR > 1 && ($2 + $3 < 0.999 || $2 + $3 > 1.001) { exit 1 }' "$work/p.csv"
# Compressed, with a header, to standard output: the same.
{ echo "a,b"; cat "$work/rows.csv"; } | gzip > "$work/rows.csv.gz"
run 0 predict "$model" --input "$work/rows.csv.gz" --out -
check cmp "$work/out" "$work/p.csv"
run 0 predict "$model" --input "$work/rows.csv" --raw --out "$work/raw.csv"
check test "$(head -n 1 "$work/raw.csv")" = "class,y0,y1"
check cmp <(cut -d, -f1 "$work/raw.csv") <(cut -d, -f1 "$work/p.csv")
# idx rows of 2 × 1 bytes and the same as npy give what csv gives; npy out is a matrix of 2 columns.
{ printf '\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x01'; printf '\x05\x07\x2d\x02'; } > "$work/rows.idx"
header="{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }"
{ printf '\x93NUMPY\x01\0\x3b\0%s\n' "$header"; printf '\x05\x2d\x07\x02'; } > "$work/rows.npy"
printf '5,7\n45,2\n' > "$work/two.csv"
for input in rows.idx rows.npy two.csv; do
  run 0 predict "$model" --input "$work/$input" --out "$work/$input.out.csv"
done
for input in rows.idx rows.npy; do check cmp "$work/two.csv.out.csv" "$work/$input.out.csv"; done
run 0 predict "$model" --input "$work/rows.csv" --out "$work/p.npy"
check test "$(stat -c %s "$work/p.npy")" -eq $((128 + 60 * 2 * 4))
run 0 predict "$model" --input "$work/p.npy" --out "$work/again.csv"  # two columns again
# What does not fit, is cut off or is not there leaves no file behind.
refuse() {
  run 1 predict "$model" --input "$work/$1" --out "$work/never.csv"; says err "$1"; says err "$2"
  check test ! -e "$work/never.csv"
}
refuse t.csv "rows of 3 values, but the network has 2 inputs"
head -c 70 "$work/rows.npy" > "$work/cut.npy"; refuse cut.npy "of 4 elements"
head -c 30 "$work/rows.npy" > "$work/header.npy"; refuse header.npy "ends within the header"
head -c 18 "$work/rows.idx" > "$work/cut.idx"; refuse cut.idx "ends after 2 of 4 elements"
head -c 100 "$work/rows.csv.gz" > "$work/cut.csv.gz"; refuse cut.csv.gz "ends too early"
printf '1,2\n3,nan\n' > "$work/nan.csv"; refuse nan.csv "nan.csv:2"
printf '1,2\n3\n' > "$work/short.csv"; refuse short.csv "short.csv:2"
: > "$work/empty.csv"; refuse empty.csv empty
refuse nowhere.csv "No such file"
run 1 predict "$work/none.safetensors" --input "$work/rows.csv" --out "$work/never.csv"; says err none.safetensors
run 1 predict "$model" --input "$work/rows.csv" --out "$work/no/such/place.csv"; says err "$work/no/such/place"
run 1 predict "$model" --input "$work/rows.csv" --out /dev/full; says err "No space left"
run 2 predict "$model" --input "$work/rows.csv"; says err --out
run 2 predict "$model" --out -; says err --input
code=0; "$program" predict "$model" --input "$work/rows.csv" --out - > /dev/full 2> "$work/err" || code=$?
check test "$code" -eq 1
