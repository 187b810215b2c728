#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over every source file, with the commands of a dev build, which compile file by file: scripts/lint.sh [file …].
# Half an hour on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/packages.sh lint
cmake --preset dev -B build/lint > /dev/null  # never built: a header that GCC precompiled is none to Clang
if [ $# -eq 0 ]; then
  mapfile -t files < <(find src cli bench -name '*.cpp' | sort)
  set -- "${files[@]}"
fi
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/lint
