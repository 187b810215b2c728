#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints a table of 1,200 measurements of three kinds of seeds, made up by rules: examples/make_table.sh [SEED].
# Columns: length, width, weight, gloss, moisture (means nothing), kind (0, 1 or 2).
exec awk -v seed="${1:-1}" 'BEGIN {
  srand(seed)
  print "length,width,weight,gloss,moisture,kind"
  for (row = 0; row < 1200; ++row) {
    kind = int(3 * rand())
    length_mm = 5 + 1.2 * (kind == 1) + noise(0.5)
    width_mm = 2.5 + 0.8 * (kind == 2) + noise(0.3)
    printf "%.2f,%.2f,%.1f,%.2f,%.1f,%d\n", length_mm, width_mm, 2 * length_mm * width_mm + noise(1.5),
           (kind == 0) * 0.3 + length_mm / 20 + noise(0.1), 12 + noise(3), kind
  }
}
function noise(size) { return size * (rand() + rand() + rand() - 1.5) * 2 }'
