#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A few seconds of fuzzing: smoke.sh PROGRAM CORPUS. What it finds is kept in the current directory, and named.
set -euo pipefail
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
"$1" -max_total_time=5 -max_len=8192 -rss_limit_mb=3000 -artifact_prefix="$(basename "$1")-" "$found" "$2" > "$found.log" 2>&1 || {
  tail -n 40 "$found.log"
  rm -f "$found.log"
  exit 1
}
tail -n 2 "$found.log"
rm -f "$found.log"
