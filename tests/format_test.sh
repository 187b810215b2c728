#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source file is as clang-format leaves it: format_test.sh SOURCE_DIR.
set -euo pipefail
cd "$1"
if [[ "$(clang-format --version)" == *" version 14."* ]]; then  # each version lays lines out in its own way
  find src include cli bench tests fuzz \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print0 | xargs -0 clang-format --dry-run -Werror
else
  echo "the layout was not looked at: that takes clang-format 14"
fi

# Every source file says its licence.
missing=$(git ls-files 2> /dev/null | grep -E '\.(cpp|h|cu|sh|cmake)$|CMakeLists.txt$|^(run|test)$' | grep -v '^fuzz/corpus/' |
  xargs -r grep -L 'SPDX-License-Identifier: Apache-2.0' || true)
[ -z "$missing" ] || { echo "no SPDX line: $missing"; exit 1; }
