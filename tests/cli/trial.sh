# SPDX-License-Identifier: Apache-2.0
# What newcomers and attackers once found.
# Options and commands that do not exist: the nearest is named, and the hint is about the real command.
run 2 trian; says err "did you mean train?"
run 2 train --sparcity 0.9; says err "did you mean --sparsity?"; says err "Try: filigree train --help"
run 2 bench kernals; says err "did you mean kernels?"
for width in 48 60 80 100 300; do
  COLUMNS=$width "$program" train --help > "$work/out"
  widest=$(LC_ALL=C.UTF-8 wc -L < "$work/out")
  check test "$widest" -le $((width < 100 ? width : 100))
done
for command in $("$program" help --form list | sed 's/^filigree *//; s/ /_/g'); do
  run 0 help ${command//_/ }; says out "Examples:"
  check test -z "$(grep -E -- '--[a-z-]+ (TEXT|INT|FLOAT|UINT)' "$work/out")"
  run 0 help --form man ${command//_/ }; says out ".SH NAME"
done
for shell in bash zsh fish; do run 0 completion $shell; says out sparsity; done
"$program" completion bash > "$work/complete.bash"
completed() {  # what bash offers after these words
  bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _filigree; echo "${COMPREPLY[*]}"' "$work/complete.bash" filigree "$@" ""
}
check test "$(completed challenge --engine)" = "plain compiled"
[[ "$(completed train --evolve)" == *rigl* ]] || check false
[[ "$(completed train)" == *--sparsity* ]] || check false
[[ "$(completed)" == *challenge* ]] || check false
# A table whose first column numbers the rows is not learnt as that many classes.
awk 'BEGIN { print "id,a,b,y"; srand(1); for (i = 0; i < 400; ++i) { a = rand(); b = rand(); print i "," a "," b "," (a > b) } }' > "$work/id.csv"
run 1 train --data "csv:$work/id.csv"; says err --label-column
# 400 rows evolve, too, and columns are found by name.
run 0 train --data "csv:$work/id.csv" --label-column y --network 3-24-24-2 --out "$work/run" --json "$work/run.json"
check test "$(awk -F: '/"grown"/ { gsub(/[ ,]/, "", $2); n += $2 } END { print n + 0 }' "$work/run.json")" -gt 0
awk -F, '{ print $4 "," $3 "," $1 "," $2 }' "$work/id.csv" > "$work/swapped.csv"
run 0 eval "$work/run" --data "csv:$work/id.csv" --label-column y --part all --json "$work/a.json"; says err "trained on rows that are scored"
run 0 eval "$work/run" --data "csv:$work/swapped.csv" --label-column y --part all --json "$work/b.json"
check test "$(grep accuracy "$work/a.json")" = "$(grep accuracy "$work/b.json")"
# Rows of another file are all scored; another seed over the same file is told.
sed '2,200d' "$work/id.csv" > "$work/part.csv"
run 0 eval "$work/run" --data "csv:$work/part.csv" --label-column y; says out "201, all of them"
run 0 eval "$work/run" --data "csv:$work/id.csv" --label-column y --data-seed 9; says err "seen in training"
run 0 eval "$work/run" --data "csv:$work/id.csv" --label-column y; says out "80 of the test part"; check test ! -s "$work/err"
# A first row that is no header is an error with its line; so is a value that is missing its name.
{ echo 0x10,1,2; sed '1,380d; s/,[01]$//' "$work/id.csv"; } > "$work/hex.csv"
run 1 predict "$work/run" --input "$work/hex.csv" --out -; says err 'hex.csv:1: "0x10" in column 1'
printf '1\000,2,3\n4,5,6\n' > "$work/nul.csv"
run 1 predict "$work/run" --input "$work/nul.csv" --out -; says err nul.csv:1
# A run resumes from anywhere.
mkdir "$work/elsewhere"
(cd "$work" && "$program" train --data csv:id.csv --label-column y --epochs 3 --out moved -q) || failures=1
(cd "$work/elsewhere" && "$program" train --resume ../moved -q) || { echo "FAILED: resume from another directory"; failures=1; }
# Two processes do not share a run.
"$program" train --data digits:4000 --epochs 100000 --out "$work/held" > /dev/null 2>&1 &
holder=$!
for _ in $(seq 100); do [ -f "$work/held/config.toml" ] && break; sleep 0.05; done
run 1 train --data digits:4000 --epochs 1 --out "$work/held"; says err "process $holder is working"
run 1 prune "$work/run" --data digits:1000 --epochs 1 --out "$work/held"; says err "$work/held"
run 1 grow --data digits:1000 --budget 3000 --epochs 1 --out "$work/held"; says err "$work/held"
kill -INT $holder; wait $holder
# Deep configurations, names with commas, text that is not UTF-8, control characters.
{ printf a; printf '.a%.0s' $(seq 5000); echo ' = 1'; } > "$work/deep.toml"
run 1 train --config "$work/deep.toml"; says err "nested more than"
cp "$work/id.csv" "$work/a,b.csv"
run 0 train --data "csv:$work/a\\,b.csv" --label-column y --epochs 1 -q
cp "$work/id.csv" "$work/$(printf 'x\377.csv')"
run 0 train --data "csv:$work/$(printf 'x\377.csv')" --label-column y --epochs 1 --json "$work/odd.json"
check test -s "$work/odd.json"
mkdir "$work/$(printf 'e\033[31m')" && cp "$work/run/model.safetensors" "$work/$(printf 'e\033[31m')/m.safetensors"
run 0 info "$work/$(printf 'e\033[31m')/m.safetensors"; says out 'e\x1b[31m'
check test "$(grep -c "$(printf '\033')" "$work/out")" -eq 0
run 1 info "$(printf '\033[31mred\nline')"; says err '\x1b[31mred\x0aline'
# What would end in the wrong form or place is refused at once.
run 2 predict "$work/run" --input "$work/part.csv" --out "$work/c.parquet"; says err .csv
run 2 predict "$work/run" --input "$work/part.csv" --out - --json -; says err "standard output"
run 2 export "$work/run" --cpp "$work/net.c"; says err .cpp
run 2 export "$work/run" --cpp "$work/net.cpp" --name nullptr; says err nullptr
for name in layer0 APART given expected sqrt printf mean exit malloc expf tanhl size_t NULL row memcpy; do
  run 2 export "$work/run" --cpp "$work/net.cpp" --name $name; says err $name
done
run 2 export "$work/run" --cpp "$work/$(printf 'a"\nb.cpp')"; says err "cannot stand in the name"
run 2 train --data digits:100 --dense --sparsity 0.9; says err --dense
run 2 info ""; check test ! -s "$work/out"
run 2 challenge --data "" --inputs 1; says err "the value of --data is empty"
run 2 train --out=; says err "the value of --out is empty"
# Options with one dash too few, and a command that is an option.
run 2 train -epochs 1; says err "did you mean --epochs?"
run 2 -x; says err "no option -x"
run 2 version; says err "did you mean --version?"
# One directory, one run: nothing is ever written over.
run 0 train --data digits:200 --network 784-8-10 --epochs 1 --out "$work/keep"
cp "$work/keep/model.safetensors" "$work/kept"
run 1 grow --data digits:200 --network 784-8-8-10 --budget 3000 --epochs 1 --out "$work/keep"; says err "holds a run already"
run 1 sweep --data digits:200 --network 784-8-8-10 --budgets 2000 --epochs 1 --out "$work/keep"; says err "holds a run already"
run 1 prune "$work/keep" --data digits:200 --out "$work/keep"; says err "holds a run already"
rm "$work/keep/checkpoint.safetensors"
run 1 train --data digits:200 --network 784-8-10 --epochs 1 --out "$work/keep"; says err "holds a run already (model.safetensors)"
check cmp "$work/keep/model.safetensors" "$work/kept"
# Column names in another encoding than UTF-8 are found again.
{ printf 'gr\366\337e,b,c\n'; seq 1 40 | awk '{ print $1 ",2," $1 % 2 }'; } > "$work/latin.csv"
run 0 train --data "csv:$work/latin.csv" --label-column c --network 2-4-2 --epochs 1 --out "$work/latin"
run 0 predict "$work/latin" --input "$work/latin.csv" --out "$work/latin.p.csv"
# Says so where nothing can evolve.
run 0 train --data digits:200 --network 784-8-10 --epochs 1 --stop-evolving 0; says err "topology will not change"
# Growth ends at its budget; a network that is refined does not get worse.
run 0 grow --data digits:600 --network 784-8-8-10 --budget 3000 --stages 1 --epochs 2 --out "$work/grown" --json "$work/g.json"
check grep -q '"connections": 3000' "$work/g.json"
run 0 train --data digits:2000 --network 784-64-10 --epochs 8 --out "$work/good" --json "$work/good.json"
run 0 train --data digits:2000 --start "$work/good" --epochs 2 --json "$work/more.json"
check awk '/test_accuracy/ { gsub(/[,"]/, ""); if (FILENAME ~ /good/) good = $2; else more = $2 } END { exit !(more >= good - 0.01) }' \
  "$work/good.json" "$work/more.json"
! grep -qE '[^0-9]0\.[0-9]+x' <(run 0 prune "$work/good" --data digits:2000 --method n-of-m --epochs 2 --out "$work/nm"; cat "$work/out") ||
  { echo "FAILED: a factor below one"; failures=1; }
# A part of the images with the whole list says what to do; a layer that was cut off is refused; info finds the size.
make_challenge
awk -F'\t' '$1 <= 1000' "$work/c/sparse-images-256.tsv" > "$work/few" && cp "$work/few" "$work/c/sparse-images-256.tsv"
run 1 challenge --neurons 256 --data "$work/c"; says err "1000 inputs"; says err "--inputs"
run 0 info "$work/c"; says out "12 layers"
layer=$work/c/neuron256/n256-l3.tsv
truncate -s -9 "$layer"
run 1 challenge --neurons 256 --data "$work/c" --inputs 1000; says err "cut off"
# A signal ends a program that waits for input.
mkfifo "$work/pipe"
"$program" predict "$work/run" --input "$work/pipe" --out "$work/never.csv" > /dev/null 2>&1 &
waiting=$!
sleep 0.3; kill -TERM $waiting
for _ in $(seq 40); do kill -0 $waiting 2> /dev/null || break; sleep 0.1; done
kill -0 $waiting 2> /dev/null && { echo "FAILED: SIGTERM does nothing"; kill -9 $waiting; failures=1; }
wait $waiting 2> /dev/null
# Killed runs leave no temporary files, or one that was just being renamed, which the next command removes.
for wait in 0 0.05 0.1 0.15; do
  "$program" train --data digits:1000 --network 784-32-10 --epochs 100000 --out "$work/killed$wait" -q 2> /dev/null &
  victim=$!
  for _ in $(seq 100); do [ -f "$work/killed$wait/checkpoint.safetensors" ] && break; sleep 0.05; done
  sleep $wait; kill -9 $victim; wait $victim 2> /dev/null
  check test -f "$work/killed$wait/checkpoint.safetensors"
  run 1 train --data digits:1000 --out "$work/killed$wait"; says err "holds a run already"
  check test -z "$(find "$work/killed$wait" -name '.filigree-*')"
done
# Where the JSON cannot be written, nothing is trained first.
: > "$work/file"
run 1 train --data digits:1000 --epochs 100000 --json "$work/file/t.json"; says err "$work/file"
# What does not end, or unpacks to more than it may, ends with a sentence that names it.
yes 1,2,1 | head -c 30000000 | gzip > "$work/long.gz"
for input in /dev/zero "$work/long.gz"; do
  run 1 predict "$work/run" --input $input --out - --memory-limit 20MB; says err "$input"; says err "memory limit is 20000000"
done
yes 1,2,1 | head -c 100000 | gzip | gzip > "$work/twice"
run 1 predict "$work/run" --input - --out - --memory-limit 50kB < "$work/twice"; says err "memory limit is 50000"
run 1 train --data "csv:$work/long.gz" --label-column 1 --memory-limit 20MB; says err long.gz; says err "memory limit"
run 1 train --data "idx:/dev/zero,/dev/zero" --memory-limit 20MB; says err /dev/zero
echo "1 2000000000:1" > "$work/wide.svm"
run 1 predict "$work/run" --input "$work/wide.svm" --out - --memory-limit 20MB; says err wide.svm; says err "memory limit"
run 1 train --data digits:1000000 --memory-limit 20MB; says err "digits:1000000"; says err "memory limit is 20000000"
# Scores that are not finite are no result.
{ echo id,a,b,y; for i in 1 2 3 4; do echo "$i,3e38,-3e38,$((i % 2))"; done; } > "$work/far.csv"
run 1 eval "$work/run" --data "csv:$work/far.csv" --label-column y --part all; says err "not finite"
# Threads that cannot be had are a sentence, too.
code=0; (ulimit -v 600000; "$program" challenge --neurons 64 --layers 3 --inputs 2000 --threads 300 > /dev/null 2> "$work/err") || code=$?
check test "$code" -eq 1; says err "threads can be started"
# Memory that runs out is a sentence.
for size in 60000 120000 300000; do
  code=0; (ulimit -v $size; "$program" train --data digits:20000 -q > /dev/null 2> "$work/err") || code=$?
  check test "$code" -le 1
done
