#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy, with the commands of a dev build, which compile file by file: scripts/lint.sh [--recent SECONDS | file …].
# Without words, every source file: half an hour on two cores. --recent: those that were changed last, newest first and
# tests last, for at most so many seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/packages.sh lint
cmake --preset dev -B build/lint > /dev/null  # never built: a header that GCC precompiled is none to Clang
most=7200
if [ "${1:-}" = --recent ]; then
  most=$2
  changed=$(git log -n 40 --name-only --format= -- 'src/*.cpp' 'cli/*.cpp' 'bench/*.cpp')
  mapfile -t files < <(awk '!seen[$0]++ { if (/_test\.cpp$|\/test_/) tests = tests $0 "\n"; else print } END { printf "%s", tests }' \
    <<< "$changed" | while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done)
  set -- "${files[@]}"
elif [ $# -eq 0 ]; then
  mapfile -t files < <(find src cli bench -name '*.cpp' | sort)
  set -- "${files[@]}"
fi
[ $# -gt 0 ] || exit 0
seen=$(mktemp) faulty=$(mktemp)
trap 'rm -f "$seen" "$faulty"' EXIT
printf '%s\0' "$@" | timeout "$most" xargs -0 -n 1 -P "$(nproc)" \
  bash -c 'clang-tidy --quiet -p build/lint "$2" 2> /dev/null || echo "$2" >> "$1"; echo "$2" >> "$0"' "$seen" "$faulty" || true
echo "filigree: clang-tidy has seen $(wc -l < "$seen") of $# files" >&2
[ ! -s "$faulty" ] || { echo "filigree: clang-tidy finds fault with:" $(cat "$faulty") >&2; exit 1; }
