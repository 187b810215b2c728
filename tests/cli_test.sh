#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program as people use and misuse it: cli_test.sh PROGRAM CASE.
set -uo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# run EXIT_CODE arguments …: runs the program, keeps its output in $work/out and $work/err.
run() {
  local expected=$1 code=0
  shift
  "$program" "$@" > "$work/out" 2> "$work/err" || code=$?
  if [ "$code" -ne "$expected" ]; then
    echo "FAILED: filigree $* ended with $code instead of $expected"
    sed 's/^/  out: /' "$work/out" | head -n 20
    sed 's/^/  err: /' "$work/err" | head -n 20
    failures=1
  fi
}
# says FILE TEXT: the output holds this text.
says() {
  grep -qF -- "$2" "$work/$1" || { echo "FAILED: no '$2' in $1:"; head -n 20 "$work/$1"; failures=1; }
}
check() {
  "$@" || { echo "FAILED: $*"; failures=1; }
}
# A small challenge in the official layout.
make_challenge() {
  run 0 generate challenge-files --neurons 256 --layers 12 --inputs 1500 --seed 4 --out "$work/c"
}

case $2 in
  help)
    run 0 --help; says out challenge
    for command in demo challenge generate compile info bench "generate network" "generate images" \
                   "generate challenge-files" "bench challenge" "bench kernels" "bench training" "bench accuracy" "bench export" "bench activations" "bench compression" train fetch eval predict prune grow sweep export; do
      run 0 $command --help; says out Usage
    done
    run 0 --version; says out 0.2
    run 0 info; says out SIMD
    ;;
  # What newcomers and attackers once found.
  trial)
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
    ;;
  usage)
    run 2; says err --help
    run 2 dance; says err dance
    run 2 generate dance; says err dance
    run 2 challenge --dance
    run 2 challenge --neurons many
    run 2 challenge --engine fast; says err plain
    run 2 challenge --inputs 0
    run 2 challenge --threads -1
    run 2 challenge --neurons 512 --layers 2 --inputs 10; says err 512
    run 2 generate network
    run 2 compile
    run 2 bench kernels --neurons 16
    run 2 challenge --neurons 100 --layers 2 --inputs 10; says err 100
    run 2 challenge --seed -1
    run 2 challenge --seed 18446744073709551616
    run 2 challenge --layers -3
    run 2 compile here --neurons 256 --layers -3
    for size in -1 0 abc 5XB 99999999999999999999 -5GB; do
      run 2 challenge --memory-limit $size; says err "no size"
    done
    run 0 challenge --neurons 64 --layers 2 --inputs 10 --memory-limit 1.5GB
    run 1 challenge --neurons 256 --inputs 16777216 --memory-limit 50MB; says err "memory limit"
    # Nobody hears the message, but the exit code stays.
    code=0; "$program" challenge --neurons 1000 2>&- || code=$?
    check test "$code" -eq 2
    code=0; "$program" info "$work/none" > /dev/full 2> /dev/full || code=$?
    check test "$code" -eq 1
    ;;
  challenge)
    for engine in plain compiled; do
      run 0 challenge --neurons 256 --layers 30 --inputs 1500 --engine $engine --repeat 3 --check full \
            --json "$work/$engine.json" --write-categories "$work/$engine.tsv"
      says out "against the double-precision reference: the same"
      for field in neurons layers inputs connections engine threads seconds seconds_all rate load_seconds \
                   compile_seconds compiled_connections categories verified mismatches live_rows distinct_rows \
                   peak_memory_bytes processor; do
        grep -q "\"$field\":" "$work/$engine.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
      done
    done
    check cmp "$work/plain.tsv" "$work/compiled.tsv"
    check test -s "$work/plain.tsv"
    for option in --no-filter --no-merge-rows "--memory-limit 3MiB" "--threads 1" "--threads 3"; do
      run 0 challenge --neurons 256 --layers 30 --inputs 1500 --engine plain $option --write-categories "$work/o.tsv"
      check cmp "$work/plain.tsv" "$work/o.tsv"
    done
    run 0 challenge --neurons 256 --layers 5 --inputs 100 --quiet
    check test ! -s "$work/out"
    run 1 challenge --neurons 256 --layers 5 --inputs 1000 --memory-limit 100; says err "memory limit"
    ;;
  files)
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
    ;;
  bad-files)
    make_challenge
    layer="$work/c/neuron256/n256-l3.tsv"
    cp "$layer" "$work/layer"
    # spoil TEXT MESSAGE: line 100 becomes TEXT, and the error names file, line and what is wrong.
    spoil() {
      printf '%b\n' "$1" > "$work/line"
      sed -e "100r $work/line" -e 100d "$work/layer" > "$layer"
      run 1 challenge --neurons 256 --data "$work/c" --write-categories "$work/none" --json "$work/none.json"
      says err "n256-l3.tsv:100"; says err "$2"
      check test ! -e "$work/none"; check test ! -e "$work/none.json"
    }
    spoil '257\t3\t0.0625' "256 neurons"
    spoil '3\t257\t0.0625' "256 neurons"
    spoil '0\t3\t0.0625' "start at 1"
    spoil '-4\t3\t0.0625' "start at 1"
    spoil 'x\t3\t0.0625' "not a whole number"
    spoil '3\t3' "field"
    spoil '3\t3\t0.0625\t1' "field"
    spoil '3\t3\tabc' "not a number"
    spoil '3\t3\tnan' "not finite"
    spoil '3\t3\t1e99' "float"
    spoil '99999999999999999999\t3\t0.0625' "256 neurons"
    spoil '\x01\x02\x00\xff' "n256-l3.tsv"
    duplicate=$(sed -n 50p "$work/layer"); { cat "$work/layer"; echo "$duplicate"; } > "$layer"
    run 1 challenge --neurons 256 --data "$work/c"; says err "again"; says err ":8193"
    : > "$layer"; run 1 challenge --neurons 256 --data "$work/c"; says err "empty"
    head -c 1000 "$work/layer" | gzip | head -c 200 > "$layer"; run 1 challenge --neurons 256 --data "$work/c"; says err "n256-l3.tsv"
    rm "$layer"; run 1 challenge --neurons 256 --data "$work/c"; says err "n256-l3.tsv"
    mkdir "$layer"; run 1 challenge --neurons 256 --data "$work/c"; says err "n256-l3.tsv"
    rmdir "$layer"; cp "$work/layer" "$layer"
    run 1 challenge --neurons 256 --data "$work/c" --layers 13; says err "12 layers"
    run 1 challenge --neurons 256 --data "$work/c" --inputs 1501; says err "1500 images, but 1501"
    run 1 challenge --neurons 1024 --data "$work/c"; says err "1024"
    run 1 challenge --neurons 256 --data "$work/nowhere"; says err nowhere
    run 1 challenge --mnist "$work/nowhere"; says err nowhere
    echo junk > "$work/train-images-idx3-ubyte"; run 1 challenge --mnist "$work"; says err train-images
    rm "$work/c/sparse-images-256.tsv"; run 1 challenge --neurons 256 --data "$work/c"; says err sparse-images-256
    run 1 info "$work/nowhere"; says err nowhere
    run 1 info "$work/layer"; says err layer
    run 0 info "$work/c"; says out "12 layers"; mkdir "$work/empty"; run 1 info "$work/empty"; says err neuron
    ;;
  models)
    run 0 generate network --neurons 256 --layers 9 --seed 3 --out "$work/m.safetensors"
    run 0 info "$work/m.safetensors"; says out "73,728"
    run 0 compile "$work/m.safetensors" --out "$work/small.safetensors" --json "$work/compile.json"
    says out "merge duplicate neurons"
    grep -q '"connections_before": 73728' "$work/compile.json" || { echo "FAILED: compile JSON"; failures=1; }
    run 0 info "$work/small.safetensors" --all; says out compiled
    run 0 compile "$work/small.safetensors"; says out "100.00 %"  # nothing left to remove
    check test "$(stat -c %s "$work/small.safetensors")" -lt "$(stat -c %s "$work/m.safetensors")"
    head -c 3000 "$work/m.safetensors" > "$work/cut.safetensors"
    run 1 info "$work/cut.safetensors"; says err cut.safetensors
    run 0 generate images --neurons 256 --inputs 20 --out "$work/images.tsv.gz"
    check test "$(zcat "$work/images.tsv.gz" | cut -f1 | sort -nu | wc -l)" -eq 20
    make_challenge
    run 0 info "$work/c" --neurons 256; says out "12 layers"
    run 0 compile "$work/c" --neurons 256; says out "→"
    ;;
  output)
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
    ;;
  interrupt)
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
    ;;
  train)
    run 0 train --data digits:1000 --network 784-32-10 --epochs 4 --batch 50 --validation 0.1 --out "$work/run" \
          --json "$work/t.json"
    says out "784-32-10"; says out "dropped/grown"; says out "rows right"; says out "$work/run"
    for file in model.safetensors metrics.jsonl config.toml checkpoint.safetensors; do
      check test -s "$work/run/$file"
    done
    check test "$(wc -l < "$work/run/metrics.jsonl")" -eq 4
    for field in test_accuracy test_loss sparsity nnz epochs seconds evolve_seconds layers inputs outputs connections \
                 seed threads history train_loss validation_accuracy data processor; do
      grep -q "\"$field\":" "$work/t.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
    done
    # A tenth would be right by chance.
    check awk -F'[:,]' '/^  "test_accuracy"/ { good = $2 > 0.3 && $2 <= 1 } END { exit !good }' "$work/t.json"
    # The file says everything: the same network comes out, whatever the threads.
    run 0 train --config "$work/run/config.toml" --threads 1 --out "$work/again" --quiet
    check test ! -s "$work/out"
    check cmp "$work/run/model.safetensors" "$work/again/model.safetensors"
    run 0 info "$work/run/model.safetensors"; says out "2 layers"
    # Without --network the data give the shape; without files nothing is written.
    run 0 train --data digits:200 --epochs 1 --dense --json -
    check test "$(head -c 1 "$work/out")" = "{"
    check grep -q '"validation_accuracy": null' "$work/out"
    run 0 train --data digits:200 --epochs 1 --test-every-epoch --no-free-lost
    says out "784-256-256-10"; says out "--out RUN"; check grep -q ' test ' "$work/out"
    # Defaults < preset < file < command line; a preset of the command line beats the file's.
    printf 'preset = "best"\nepochs = 2\nnetwork = [784, 16, 10]\n[data]\nsource = "digits:200"\n' > "$work/c.toml"
    run 0 train --config "$work/c.toml" --out "$work/p1" --lr 0.05
    check grep -q '^weight-decay = 0.0007' "$work/p1/config.toml"
    check grep -q '^lr = 0.05' "$work/p1/config.toml"
    check grep -q '^epochs = 2 ' "$work/p1/config.toml"
    run 0 train --config "$work/c.toml" --out "$work/p2" --preset fast --epochs 1 --data digits:300
    check grep -q '^weight-decay = 0.0005' "$work/p2/config.toml"
    check grep -q '^epochs = 1 ' "$work/p2/config.toml"
    check grep -q '^source = "digits:300"' "$work/p2/config.toml"
    run 0 train --data digits:200 --network 784-20-10 --epochs 1 --distribution densities --densities 0.5,0.25 \
          --json "$work/d.json"
    check grep -q '"connections": 7840' "$work/d.json"
    # Going on from a network: the same one at a learning rate of zero, a smaller one if it is pruned.
    run 0 train --data digits:200 --network 784-20-10 --epochs 2 --dense --out "$work/full"
    run 0 train --data digits:200 --start "$work/full" --lr 0 --evolve none --epochs 1 --out "$work/same"
    check cmp "$work/full/model.safetensors" "$work/same/model.safetensors"
    run 0 train --data digits:200 --start "$work/full/model.safetensors" --evolve prune --final-sparsity 0.95 --update-every 1 \
          --epochs 4 --out "$work/pruned" --json "$work/p.json"
    says out "pruned: weights by magnitude, until 95 % are gone"
    check test "$(grep -o '"nnz": [0-9]*' "$work/p.json" | grep -o '[0-9]*')" -le 794
    check test "$(stat -c %s "$work/full/model.safetensors")" -gt $((8 * $(stat -c %s "$work/pruned/model.safetensors")))
    run 2 train --data digits:200 --start "$work/full" --network 784-16-10; says err --start
    run 1 train --data digits:200 --start "$work/none"; says err none
    run 1 train --data digits:200 --start "$work/full" --evolve prune; says err "final sparsity"
    run 1 train --data digits:200 --start "$work/full" --evolve prune --final-sparsity 0.9999; says err "are the least"
    run 1 train --data digits:200 --start "$work/full" --evolve prune --final-sparsity 0.9 --epochs 1 --update-every 50; says err "nothing would be pruned"
    run 1 train --data "csv:$work/t.csv" --start "$work/full"
    # Comma-separated tables.
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "$((i % 2)),$i,$((i * i))"; done > "$work/t.csv"
    run 0 train --data "csv:$work/t.csv" --epochs 2 --network 2-4-2 --batch 4 --sparsity 0.3 --test-share 0.25 --data-seed 3
    # Output into a pipe that closes, or onto a full disk.
    "$program" train --data digits:200 --network 784-16-10 --epochs 1 | head -n 1 > /dev/null
    code=0; "$program" train --data digits:200 --network 784-16-10 --epochs 1 > /dev/full 2> "$work/err" || code=$?
    check test "$code" -eq 1
    ;;
  train-errors)
    run 2 train; says err --data
    run 2 train --data digits:200 --sparsity 1.5; says err "from 0 to below 1"
    run 2 train --data digits:200 --sparsity half; says err half
    run 2 train --data digits:200 --init best; says err "he, glorot or ertl"
    run 2 train --data digits:200 --network 784; says err "two or more"
    run 2 train --data digits:200 --network 784-x-10; says err "'x'"
    run 2 train --data digits:200 --network 784-0-10; says err "from 1"
    run 2 train --data digits:200 --densities 0.5,,1; says err densities
    run 2 train --data digits:200 --epochs 0; says err epochs
    run 2 train --data digits:200 --epochs 1.5; says err "whole number"
    run 2 train --data digits:200 --seed -1; says err seed
    run 2 train --data digits:200 --lr nan; says err nan
    run 2 train --data digits:200 --test-share 1; says err "below 1"
    run 2 train --data digits:200 --data-seed x
    run 2 train --data digits:200 --preset worst; says err best
    run 2 train --data digits:200 --dance
    run 2 train --resume "$work/a" --out "$work/b"
    run 2 train --resume "$work/a" --config "$work/b"
    run 1 train --data "csv:$work/none.csv"; says err none.csv
    run 1 train --data "mnist:$work/none"; says err none
    run 2 train --data "dance:$work"; says err dance
    run 1 train --data digits:200 --network 100-16-10; says err 100; says err 784
    run 1 train --data digits:200 --network 784-16-3; says err 10
    run 1 train --resume "$work/none"; says err none
    run 1 train --config "$work/none.toml"; says err none.toml
    # bad TEXT MESSAGE: a configuration of this text is refused.
    bad() {
      printf '%b\n' "$1" > "$work/bad.toml"
      run 1 train --config "$work/bad.toml" --data digits:200 --out "$work/never"
      says err "$2"
      check test ! -e "$work/never"
    }
    bad 'lr = "high"' "bad.toml:1: lr is \"high\""
    bad '\n\nrate = 1' "bad.toml:3: unknown key \"rate\""
    bad 'sparsity = 1.0' "from 0 to below 1"
    bad 'init = "best"' "he, glorot or ertl"
    bad 'lr = ' "bad.toml:1"
    bad 'lr = 1\nlr = 2' "bad.toml:2"
    bad '[data]\nfile = "x"' "bad.toml:2"
    bad 'preset = "worst"' "bad.toml:1"
    bad '\x01\xff' "bad.toml"
    # A directory that holds a run is not overwritten.
    run 0 train --data digits:200 --network 784-16-10 --epochs 1 --out "$work/run"
    run 1 train --data digits:200 --network 784-16-10 --epochs 1 --out "$work/run"; says err "$work/run"
    run 1 train --data digits:200 --network 784-16-10 --epochs 1 --out /dev/null/run; says err /dev/null/run
    run 1 train --data digits:200 --network 784-16-10 --epochs 1 --json "$work/no/such/place"; says err "$work/no"
    ;;
  train-resume)
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
    ;;
  prune)
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
    ;;
  grow)
    run 0 grow --data digits:600 --network 784-8-8-10 --budget 2000 --stages 2 --deepen 1 --prune 0.2 --epochs 2 --update-every 2 \
          --out "$work/run" --json "$work/g.json"
    says out "budget      2,000 connections, 4,000 floating-point"; says out "one more layer"; says out "prune 20 %"
    check grep -q '"connections": 1' "$work/g.json"
    run 0 eval "$work/run" --data digits:600; says out accuracy
    run 0 bench activations "$work/run" --data digits:600 --repeat 3; says out "never on"; says out "one by one"
    run 0 grow --resume "$work/run"; says out "written"
    run 1 grow --data digits:600 --budget 2000 --network 784-8-8-10 --out "$work/run"; says err "holds a run already"
    run 1 grow --data digits:600 --flops 100 --network 784-8-8-10 --out "$work/none"; says err "budget of 50"
    run 2 grow --data digits:600 --out "$work/none"; says err --budget
    run 2 grow --data digits:600 --budget 10 --flops 20 --out "$work/none"; says err --budget
    run 2 grow --budget 5000; says err --data
    run 1 grow --resume "$work/none"; says err none
    run 2 grow --resume "$work/run" --epochs 9; says err --epochs
    run 1 grow --data digits:600 --budget 2000 --network 784-8-8-10 --update-every 5000 --out "$work/none"; says err update-every
    run 1 grow --data digits:600 --budget 2000 --network 70-8-8-10 --out "$work/none"; says err "70 inputs"
    run 1 grow --data digits:600 --budget 2000 --network 784-8-8-10 --activation tanh --deepen 1 --update-every 2 --out "$work/none"
    says err tanh
    ;;
  sweep)
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
    ;;
  device)  # with the program on the emulated device
    run 0 info --devices --json "$work/d.json"; says out "cuda 0      emulated"; check grep -q '"compute_capability"' "$work/d.json"
    run 0 challenge --device cuda --layers 20 --inputs 60 --json "$work/c.json"; says out "device      emulated"; says out "the same"
    check grep -q '"device": "emulated"' "$work/c.json"
    for kernel in fused spmm spgemm spgemm-kept; do
      run 0 challenge --device cuda --engine plain --kernel $kernel --layers 3 --inputs 40; says out "the same"
      run 0 challenge --device cuda --engine plain --kernel $kernel --layers 3 --inputs 40 --no-filter; says out "the same"
    done
    run 0 challenge --device cuda --engine plain --kernel tiled --neurons 64 --layers 3 --inputs 40; says out "the same"
    run 0 train --device cuda --data digits:300 --network 784-16-12-10 --batch 64 --sparsity 0.9 --epochs 1 --update-every 2 --out "$work/run"
    says out "on emulated"; says out 1,286; check test -s "$work/run/model.safetensors"
    run 0 train --data digits:300 --network 784-16-12-10 --batch 64 --sparsity 0.9 --epochs 1 --update-every 2 --out "$work/cpu"
    run 0 eval "$work/run" --data digits:300 --device cuda --json "$work/e.json"
    run 0 eval "$work/cpu" --data digits:300 --json "$work/f.json"
    check test "$(grep '"accuracy"' "$work/e.json")" = "$(grep '"accuracy"' "$work/f.json")"
    for ((i = 0; i < 784; ++i)); do printf '%s%d' "$([ $i -gt 0 ] && echo ,)" $((i % 256)); done > "$work/row.csv"; echo >> "$work/row.csv"
    run 0 predict "$work/run" --input "$work/row.csv" --out "$work/p.csv" --device cuda
    check test "$(wc -l < "$work/p.csv")" -eq 2
    run 2 challenge --device cuda --kernel spmm --layers 3 --inputs 40; says err "--engine plain"
    run 2 challenge --engine plain --kernel spmm --layers 3 --inputs 40; says err "on the CPU"
    run 2 challenge --device opencl; says err cuda
    run 1 train --device cuda --data digits:300 --network 784-16-12-10 --exits 1; says err "--device cpu"
    run 1 challenge --device cuda --gpus 2 --layers 3 --inputs 40; says err "2 GPUs are asked for, but there are 1"
    export FILIGREE_EMULATED="devices=2"
    run 0 challenge --device cuda --gpus 0 --layers 3 --inputs 40; says out "2 × emulated"; says out "the same"
    run 0 train --device cuda --gpus 2 --data digits:200 --network 784-16-10 --batch 64 --sparsity 0.9 --epochs 1; says out "2 × emulated"
    export FILIGREE_EMULATED="driver=0"
    run 1 challenge --device cuda --layers 3 --inputs 40; says err "no CUDA driver"; says err "--device cpu"
    run 0 challenge --device auto --layers 3 --inputs 40; says err "running on the CPU: no CUDA driver"; check test "$(wc -l < "$work/err")" -eq 1
    run 0 info --devices; says out "none: no CUDA driver"
    export FILIGREE_EMULATED="devices=0"
    run 1 challenge --device cuda --layers 3 --inputs 40; says err "finds no GPU"
    export FILIGREE_EMULATED="memory=1000000"
    run 1 challenge --device cuda --layers 3 --inputs 40; says err "has 1000000 of 1000000 bytes free"; says err "--device cpu"
    FILIGREE_EMULATED="memory=200000" run 1 train --device cuda --data digits:300 --network 784-16-12-10 --epochs 1; says err "out of memory"; says err "--device cpu"
    ;;
  exits)
    run 0 train --data digits:600 --network 784-40-40-40-10 --sparsity 0.8 --epochs 3 --exits 1,2 --out "$work/run" --json "$work/t.json"
    says out "exits behind hidden layer 1, 2"; says out "exits       80 + 80"
    run 0 info "$work/run"; says out "behind layer 1: 80 connections"
    run 0 eval "$work/run" --data digits:600 --json "$work/all.json"; says out "connections a row"
    run 0 eval "$work/run" --data digits:600 --exit-threshold 0 --json "$work/none.json"
    says out "120 behind layer 1, 0 behind layer 2, 0 at the end"
    run 0 eval "$work/run" --data digits:600 --exit-curve --plot "$work/curve.svg" --json "$work/c.json"
    says out "connections/row"; says out curve.svg
    check grep -q '"threshold": 0.5' "$work/c.json"; check grep -q '</svg>' "$work/curve.svg"
    run 0 compile "$work/run" --out "$work/c.safetensors"; says out "are left out"
    run 1 eval "$work/c.safetensors" --data digits:600 --exit-curve; says err "no exits"
    run 2 eval "$work/c.safetensors" --data digits:600 --exit-threshold 0.5; says err "no exits"
    run 2 eval "$work/run" --data digits:600 --exit-threshold 2; says err --exit-threshold
    run 2 eval "$work/run" --data digits:600 --exit-threshold 0.5 --exit-curve; says err --exit-curve
    run 2 eval "$work/run" --data digits:600 --plot "$work/p.svg"; says err --exit-curve
    run 1 eval "$work/run" --data digits:600 --exit-curve --plot "$work/none/p.svg"; says err none
    for ((i = 0; i < 784; ++i)); do printf '%s%d' "$([ $i -gt 0 ] && echo ,)" $((i % 256)); done > "$work/row.csv"; echo >> "$work/row.csv"
    run 0 predict "$work/run" --input "$work/row.csv" --out "$work/p.csv" --exit-threshold 0.2
    check test "$(wc -l < "$work/p.csv")" -eq 2
    # Heads for a network that has none, and for one that has.
    run 0 train --data digits:600 --network 784-30-30-10 --sparsity 0.8 --epochs 2 --out "$work/plain"
    run 0 train --start "$work/plain" --data digits:600 --epochs 1 --exits 2 --out "$work/more"
    run 0 info "$work/more"; says out "behind layer 2"
    run 0 train --start "$work/more" --data digits:600 --epochs 1 --out "$work/again"
    run 0 info "$work/again"; says out "behind layer 2"
    run 1 prune "$work/run" --method magnitude --target 0.9 --data digits:600 --out "$work/p"; says err "plain networks"
    run 1 train --data digits:600 --network 784-40-10 --exits 2; says err "has 1"
    run 2 train --data digits:600 --exits 0; says err exits
    run 2 train --data digits:600 --exits one; says err exits
    for n in 3 5 100 16777216; do run 1 train --start "$work/plain" --data digits:600 --epochs 1 --exits $n; says err "has 2"; done
    run 1 train --start "$work/more" --data digits:600 --epochs 1 --exits 1; says err "already"
    run 1 train --start "$work/plain" --data digits:600 --epochs 1 --mixtures 1; says err "mixtures"
    run 0 train --data digits:600 --network 784-30-30-10 --sparsity 0 --epochs 1 --exits 1 --out "$work/full"
    run 1 train --start "$work/full" --dense --data digits:600 --epochs 1; says err "the exit behind layer 1"
    run 1 prune "$work/full" --method lottery --target 0.9 --data digits:600 --epochs 2 --out "$work/l"; says err "plain networks"
    run 2 grow --data digits:600 --budget 6000 --exits 1 --out "$work/g"; says err exits
    run 0 export "$work/run" --cpp "$work/n.cpp"; says out "are left out"
    ;;
  mixture)
    run 0 train --data contexts:3000 --network 40-32-4 --sparsity 0.8 --epochs 3 --mixtures 1 --experts 4 --out "$work/run"
    says out "2 of 4 experts in hidden layer 1"; says out "experts"; says out "gates"
    run 0 info "$work/run"; says out "4 experts, 2 for a row"
    run 0 eval "$work/run" --data contexts:3000; says out "connections a row"
    for command in "compile $work/run" "export $work/run --cpp $work/n.cpp" "bench activations $work/run --data contexts:3000" \
                   "prune $work/run --method magnitude --target 0.9 --data contexts:3000 --out $work/p" \
                   "prune $work/run --method lottery --target 0.9 --data contexts:3000 --out $work/p" \
                   "train --start $work/run --data contexts:3000 --epochs 1"; do
      run 1 $command; says err "mixture of experts"
    done
    run 1 train --data contexts:3000 --network 40-32-4 --mixtures 1 --experts 4 --active-experts 5; says err "5 of 4 experts"
    run 1 train --data contexts:3000 --network 40-32-4 --mixtures 2; says err "has 1"
    run 1 train --data contexts:3000 --network 40-32-4 --mixtures 1 --dense; says err dense
    for ((i = 0; i < 40; ++i)); do echo "$((i % 2)) $((1 + i % 2)):1 5:2"; done > "$work/s.svm"
    run 1 train --data "libsvm:$work/s.svm" --network 5-8-2 --sparsity 0.1 --mixtures 1; says err sparse
    run 2 train --data contexts:3000 --experts 1; says err experts
    ;;
  export)
    compiler=${CXX:-c++}
    command -v "$compiler" > /dev/null || { echo "SKIPPED: no $compiler"; exit 77; }
    for settings in "--sparsity 0.95" "--sparsity 0.7 --activation tanh --loss mse" "--dense --activation leaky-relu --network 784-40-10" \
                    "--sparsity 0.5 --activation sigmoid --network 784-10" "--sparsity 0.9 --activation softplus --optimizer lion --lr 0.001"; do
      rm -rf "$work/run"
      run 0 train --data digits:400 --epochs 2 $settings --out "$work/run"
      run 0 export "$work/run" --cpp "$work/net.cpp" --json "$work/e.json"; says out "extern"; says out net_test.cpp
      check "$compiler" -std=c++17 -Wall -Wextra -Werror -O1 "$work/net_test.cpp" -o "$work/net_test"
      check "$work/net_test"
    done
    # The test finds a program that computes something else.
    check sed -i '0,/y\[3\] = /s//y[3] = 0.5f + /' "$work/net.cpp"
    check "$compiler" -std=c++17 "$work/net_test.cpp" -o "$work/net_test"
    check test "$("$work/net_test" > /dev/null; echo $?)" -eq 1
    run 0 export "$work/run" --cpp "$work/other.cpp" --name digit; says out digit
    check grep -q 'extern "C" void digit(' "$work/other.cpp"
    run 0 bench export "$work/run" --data digits:400 --repeat 3 --json "$work/e.json"; says out "program is"
    run 2 bench export "$work/run" --data "digits:0"; run 1 export "$work/none" --cpp "$work/net.cpp"; says err none
    run 2 export "$work/run"; says err --cpp
    run 2 export "$work/run" --cpp "$work/net.cpp" --name "3d"; says err 3d
    run 2 export "$work/run" --cpp "$work/net.cpp" --name "int"; says err int
    run 2 export "$work/run" --cpp -; says err --cpp
    # Means far from zero are not folded into biases.
    for ((i = 0; i < 60; ++i)); do echo "$((i % 2)),$((100000 + i % 7 + 3 * (i % 2))),$((i % 5))"; done > "$work/far.csv"
    rm -rf "$work/run"; run 0 train --data "csv:$work/far.csv" --network 2-8-2 --sparsity 0 --epochs 5 --out "$work/run"
    run 0 export "$work/run" --cpp "$work/net.cpp"
    check grep -q 'mean\[i\]' "$work/net.cpp"
    check "$compiler" -std=c++17 -Wall -Wextra -Werror "$work/net_test.cpp" -o "$work/net_test"
    check "$work/net_test"
    run 1 export "$work/run" --cpp "$work/none/net.cpp"; says err none
    ;;
  train-terminal)
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
    ;;
  eval)
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
    ;;
  predict)
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
    ;;
  fetch)
    export no_proxy=127.0.0.1
    nobody=http://127.0.0.1:1/
    run 2 fetch; says err name
    run 2 fetch cifar; says err mnist
    run 1 fetch mnist --out "$work/m" --mirror $nobody; says err "${nobody}train-images-idx3-ubyte.gz"
    check test -z "$(ls "$work/m")"
    run 1 fetch mnist --out "$work/m" --mirror "file://$work"; says err "http://"
    echo other > "$work/m/train-images-idx3-ubyte"
    run 1 fetch mnist --out "$work/m" --mirror $nobody; says err "move it away"; says err 6bbc9ace898e44ae57da46a324031adb
    check grep -q other "$work/m/train-images-idx3-ubyte"
    run 1 fetch mnist --out "$work/m/train-images-idx3-ubyte/below" --mirror $nobody; says err below
    # What is there already needs no network.
    fashion=/usr/share/datasets/fashion-mnist
    if [ -d $fashion ]; then
      run 0 fetch fashion --out $fashion --mirror $nobody --json "$work/f.json"
      says out "already there"; says out "fashion:$fashion"
      check test "$(grep -c '"already_there": true' "$work/f.json")" -eq 4
    fi
    ;;
  bench)
    run 0 bench kernels --neurons 64 --fan-in 8 --repeat 1 --time-model "$work/time.json" --rows 64
    says out "parts of a call of 64 rows"; says out eights
    run 0 train --data digits:1000 --network 784-64-32-10 --epochs 3 --dense --out "$work/full"
    run 0 prune "$work/full" --data digits:1000 --method fssl --time-model "$work/time.json" --target 0.9 --epochs 4 \
          --update-every 3 --out "$work/small" --json "$work/p.json"
    says out "ms predicted for 64 rows"; says out "batch 512"; check grep -q '"predicted_milliseconds":' "$work/p.json"
    sed 's/"processor": ".*"/"processor": "Analytical Engine"/' "$work/time.json" > "$work/other.json"
    run 0 prune "$work/full" --data digits:1000 --method fssl --time-model "$work/other.json" --epochs 4 --update-every 3 \
          --out "$work/timed"
    says out "Analytical Engine"; says out "measured again"; says out "ms predicted for 64 rows"
    run 0 bench compression --data digits:600 --epochs 4 --target 0.8 --sparse-target 0.9 --json "$work/b.json"
    for method in dense fssl magnitude taylor random neurons blocks lottery "sparse from scratch"; do says out "$method"; done
    run 0 bench kernels --neurons 64 --repeat 1 --json "$work/k.json"
    check grep -qE "^spgemm +64 +2048 " "$work/out"
    for field in dense_fma_rate connections_per_second share_of_dense spmm/n=64,k=32 times_copy over_eigen spgemm/n=64; do
      grep -q "\"$field\"" "$work/k.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
    done
    run 0 bench challenge --neurons 256 --layers 10 --inputs 200 --repeat 1 --json "$work/b.json"
    for field in plain compiled seconds rate; do
      grep -q "\"$field\"" "$work/b.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
    done
    run 0 bench training --no-extras --repeat 1 --sparsity 0.9,0.99 --inputs 640 --json "$work/t.json"
    says out "training step, 784-256-256-256-10, batch 512"
    for field in dense_fma_rate rows task sparsity milliseconds speedup; do
      grep -q "\"$field\"" "$work/t.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
    done
    check [ "$(grep -c '"task"' "$work/t.json")" -eq 6 ]  # inference and step: dense and two sparsities each
    run 2 bench training --sparsity 1.5
    run 1 bench accuracy --fashion none --mnist "$work/nowhere" --seeds 1; says err nowhere
    ;;
  demo)
    run 0 demo; says out "the same from both engines"; says out "on rows never trained on"
    ;;
  official)
    if [ ! -d "${FILIGREE_DATA:-}/mnist" ]; then
      echo "SKIPPED: FILIGREE_DATA names no directory with mnist/"
      exit 77
    fi
    # MNIST through the generated network: the count that every published run of this size finds.
    for engine in plain compiled; do
      run 0 challenge --mnist "$FILIGREE_DATA/mnist" --engine $engine --write-categories "$work/$engine.tsv"
      says out "1,812"
    done
    check cmp "$work/plain.tsv" "$work/compiled.tsv"
    check cmp "$work/plain.tsv" "$FILIGREE_DATA/graph-challenge/neuron1024-l120-categories.tsv"
    ;;
  *) echo "no case $2"; exit 2 ;;
esac
exit $failures
