#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pages show what the program prints: readme_test.sh PROGRAM SOURCE_DIR [--update]. Runs the commands of each block of
# README.md, docs/TABLES.md and docs/BRING.md that begins with "$ ", in one directory, and compares
# what they print with what stands there, times, rates, shares and the machine aside; --update writes the real output into
# the pages. Also compares docs/commands with the program's help.
set -uo pipefail
program=$(realpath "$1") source=$(realpath "$2") update=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/filigree"
export PATH=$work/bin:$PATH COLUMNS=100
cd "$work"
cp -r "$source/examples" .
failures=0

# Percentages outside lines of times: accuracies and sparsities, which differ in the last places between SIMD widths.
percentages() { grep -v '^time ' | grep -oE -- '-?[0-9.]+ ?%' | tr -d ' %'; }

# Times, rates, percentages, curves and machines differ from run to run, or from machine to machine.
masked() {
  sed -E -e 's/[0-9][0-9.,]* (µs|ms|s)\b/N s/g' \
    -e 's/[0-9.,N]+ +[kMGTP]?(connections|rows)\/s/N/g' -e 's/-?[0-9.]+ ?%/N %/g' -e 's/[▁▂▃▄▅▆▇█]+/CURVE/g' \
    -e 's/^(machine +).*/\1M/' -e 's/(loss|speed-up) +[0-9.e×-]+/\1 N/g' -e 's/[0-9]+× by/N× by/' -e 's/[0-9.]+ ×/N ×/g' -e 's/\([0-9]+ wrong\)/(N wrong)/' \
    -e 's/^[0-9],[0-9.e,-]+$/NUMBERS/' -e 's/^ +[0-9]+ +[0-9.]+ .*/EPOCH/' -e 's/^wrong .*/WRONG/' \
    -e 's/^(errors|R²) .*/\1 N/' -e 's/R² [0-9.]+/R² N/' -e 's/;[0-9.]+$/;N/' -e 's/ +/ /g' -e 's/ +$//'
}

for page in README.md docs/TABLES.md docs/BRING.md; do
  rm -f "$work"/block-*
  awk -v out="$work/block" '/^```/ { if (inside) { inside = 0 } else { inside = 1; first = 1; next } }
    inside && first && /^\$ / { ++count; keep = 1 }
    inside { first = 0; if (keep) print > (out "-" sprintf("%02d", count)) }
    !inside { keep = 0 }' "$source/$page"

  cp "$source/$page" "$work/page.new"
  for block in "$work"/block-*; do
    : > "$work/real"
    while read -r line; do
      [[ "$line" == '$ '* ]] || continue
      command=${line#'$ '}
      echo "$line" >> "$work/real"
      run=${command/#.\/run/filigree}
      [ "$run" != filigree ] || run="filigree demo"
      bash -c "$run" >> "$work/real" 2> "$work/err" < /dev/null || { echo "FAILED: $command"; cat "$work/err"; failures=1; }
    done < "$block"
    if [ "$update" = --update ]; then
      python3 - "$block" "$work/real" "$work/page.new" << 'PY'
import sys
old, new, page = (open(p).read() for p in sys.argv[1:4])
open(sys.argv[3], "w").write(page.replace("```\n" + old + "```", "```\n" + new + "```"))
PY
    elif ! diff <(masked < "$block") <(masked < "$work/real") > "$work/diff"; then
      echo "FAILED: $page shows something else than the program (tests/readme_test.sh $program $source --update):"
      cat "$work/diff"
      failures=1
    elif ! paste <(percentages < "$block") <(percentages < "$work/real") |
      awk -v page="$page" '($1 - $2)^2 > 1.5^2 { print page " shows " $1 " %, the program " $2 " %"; bad = 1 } END { exit bad }'; then
      echo "FAILED: more than 1.5 points apart"
      failures=1
    fi
  done
  [ "$update" != --update ] || cp "$work/page.new" "$source/$page"
done
if [ "$update" = --update ]; then
  "$source/scripts/pages.sh" "$program"
  exit 0
fi
"$source/scripts/pages.sh" "$program" "$work/commands"

# Guides name only commands and options that there are.
for page in "$source"/README.md "$source"/docs/*.md "$source"/docs/measurements/*.md "$source"/examples/*.md; do
  grep -hoE '(^|`|\$ )filigree [a-z][^`#|]*' "$page" | sed -E 's/^[`$ ]*filigree //' | while read -r first second rest; do
    help=$source/docs/commands/filigree-$first
    [ ! -f "$help-$second.md" ] || help=$help-$second
    [ -f "$help.md" ] || continue  # prose
    for option in $(grep -oE -- '--[a-z][a-z-]+' <<< "$second $rest"); do
      grep -qE -- "$option\b" "$help.md" || echo "FAILED: $(basename "$page"): filigree $first $second has no $option"
    done
  done
done > "$work/options"
[ ! -s "$work/options" ] || { cat "$work/options"; failures=1; }
diff -r "$work/commands" "$source/docs/commands" || { echo "FAILED: docs/commands is not what the program says: run scripts/pages.sh"; failures=1; }
exit $failures
