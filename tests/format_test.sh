#!/usr/bin/env bash
# Every source file is as clang-format leaves it: format_test.sh SOURCE_DIR.
set -euo pipefail
cd "$1"
find src include cli bench tests fuzz \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print0 | xargs -0 clang-format --dry-run -Werror
