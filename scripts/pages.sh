#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes docs/commands/, a page for each command, from the program's own help: scripts/pages.sh [PROGRAM [DIRECTORY]].
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/release/filigree}
out=${2:-docs/commands}
rm -rf "$out"
mkdir -p "$out"
{
  echo "# Commands"
  echo
  echo "Each page is the manual page of a command, written by \`filigree help --form markdown\`."
  echo
} > "$out/README.md"
"$program" help --form list | while read -r command; do
  name=${command// /-}
  "$program" help --form markdown ${command#filigree} > "$out/$name.md"
  echo "- [$command]($name.md)" >> "$out/README.md"
done
