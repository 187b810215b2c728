# SPDX-License-Identifier: Apache-2.0
run 0 train --data digits:600 --network 784-32-10 --epochs 2 --out "$work/run" --json "$work/t.json"
model="$work/run/model.safetensors"
run 0 eval "$model" --data digits:600 --json "$work/e.json"
says out "accuracy"; says out "of the test part"; says out "(by class)"
for field in network data part rows task metrics confusion balanced_accuracy f1_macro roc_auc accuracy loss wrong \
             wrong_by_class rows_by_class seconds threads; do
  grep -q "\"$field\":" "$work/e.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
done
# What training said at its end, to the last digit.
value() { sed -nE "s/^  \"$1\": ([^,]*),?\$/\1/p" "$work/$2"; }
check test "$(value test_accuracy t.json)" = "$(value accuracy e.json)"
run 0 eval "$model" --data digits:600 --part train --threads 1; says out "600 of the train part"
run 0 compile "$model" --out "$work/small.safetensors"
run 0 eval "$work/small.safetensors" --data digits:600 --json "$work/s.json" --quiet
check test "$(value wrong s.json)" = "$(value wrong e.json)"
check test ! -s "$work/out"
run 0 info "$model"; says out "identity"; says out "cross-entropy"; says out "give raw values"
# What does not fit or is not there.
run 2 eval "$model"; says err --data
run 2 eval --data digits:600
run 2 eval "$model" --data digits:600 --part none; says err none
run 1 eval "$model" --data "mnist:$work/nowhere"; says err nowhere
run 1 eval "$work/none.safetensors" --data digits:600; says err none.safetensors
for i in 1 2 3 4 5 6 7 8; do echo "$((i % 2)),$i,$((i * i))"; done > "$work/t.csv"
run 1 eval "$model" --data "csv:$work/t.csv"; says err "rows of 2 values, but the network has 784 inputs"
run 2 eval "$model" --data "csv:$work/t.csv" --test-share 1
run 1 eval "$model" --data "csv:$work/t.csv" --label-column 4; says err "column 4"
run 1 eval "$model" --data digits:600 --json /dev/full; says err "No space left"
# From standard input; with a comma in the name; with a column more, or less.
echo "a,b,y" > "$work/s.csv"
for i in $(seq 1 60); do echo "$i,$((i * 7 % 13)),$((i > 30))"; done >> "$work/s.csv"
run 0 train --data - --label-column y --network 2-8-2 --sparsity 0.2 --epochs 5 --out "$work/piped" < "$work/s.csv"
cp "$work/s.csv" "$work/s,t.csv"
run 0 eval "$work/piped" --data "$work/s,t.csv" --part all; says out "60"
run 0 eval "$work/piped" --data - < "$work/s.csv"; says out "of the test part"
sed 's/$/,9/; 1s/,9$/,z/' "$work/s.csv" > "$work/more.csv"
run 0 eval "$work/piped" --data "$work/more.csv" --part all; says err "does not know \"z\", which is left out"
cut -d, -f3 "$work/s.csv" > "$work/less.csv"
run 1 predict "$work/piped" --input "$work/less.csv" --out "$work/p.csv"; says err "no column is called \"a\" or \"b\""
