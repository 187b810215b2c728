#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds a preset: scripts/build.sh PRESET [target …]. Speaks only while it works, or on failure.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
directory=build/$preset
[ "$preset" != test ] || directory=build/release  # the program is the same one
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {
  "$@" > "$log" 2>&1 || {
    grep -E -A3 'error|FAILED|CMake Error' "$log" | head -n 60 >&2 || tail -n 40 "$log" >&2
    echo "filigree: the $preset build failed" >&2
    exit 1
  }
}
if [ ! -f "$directory/build.ninja" ]; then
  echo "filigree: building ($preset); this takes a few minutes the first time" >&2
  run cmake --preset "$preset"
elif [[ "$preset" = test || "$preset" = asan ]] && ! { grep -q '^FILIGREE_TESTS:.*=ON' "$directory/CMakeCache.txt" && grep -q '^FILIGREE_PYTHON:.*=ON' "$directory/CMakeCache.txt"; }; then
  run cmake --preset "$preset"
elif [[ " $* " == *" filigree_peers_plugin "* ]] && grep -q '^GRAPHBLAS_.*NOTFOUND' "$directory/CMakeCache.txt"; then
  run cmake --preset "$preset"  # peers have been installed since
fi
run cmake --build "$directory" ${*:+--target "$@"}
