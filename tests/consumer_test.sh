#!/usr/bin/env bash
# Installs the library into a temporary place and builds a program against it: consumer_test.sh BUILD_DIR SOURCE_DIR.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
cmake -S "$source/tests/consumer" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" > "$work/build.log" || { tail -n 40 "$work/build.log"; exit 1; }
"$work/build/consumer"
"$work/prefix/bin/filigree" --version
