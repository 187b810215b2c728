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

here=$(dirname "$(realpath "$0")")
[ -f "$here/cli/$2.sh" ] || { echo "no case $2 in $here/cli" >&2; exit 2; }
source "$here/cli/$2.sh"
exit $failures
