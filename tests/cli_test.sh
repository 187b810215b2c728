#!/usr/bin/env bash
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
                   "generate challenge-files" "bench challenge" "bench kernels"; do
      run 0 $command --help; says out Usage
    done
    run 0 --version; says out 0.1
    run 0 info; says out SIMD
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
      run 0 challenge --neurons 256 --layers 30 --inputs 3000 --engine $engine --repeat 3 --check full \
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
      run 0 challenge --neurons 256 --layers 30 --inputs 3000 --engine plain $option --write-categories "$work/o.tsv"
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
    run 2 info "$work/c"; says err neurons
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
  bench)
    run 0 bench kernels --neurons 64 --repeat 1 --json "$work/k.json"
    for field in dense_fma_rate connections_per_second share_of_dense spmm/n=64,k=32; do
      grep -q "\"$field\"" "$work/k.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
    done
    run 0 bench challenge --neurons 256 --layers 10 --inputs 200 --repeat 1 --json "$work/b.json"
    for field in plain compiled seconds rate; do
      grep -q "\"$field\"" "$work/b.json" || { echo "FAILED: no $field in the JSON"; failures=1; }
    done
    ;;
  demo)
    run 0 demo; says out "the same from both engines"
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
