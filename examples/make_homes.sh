#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints a table of 3,000 homes, made up by rules, as people keep them: text, gaps, a price: examples/make_homes.sh
# [SEED]. With --offers: 5 homes without a price, in other columns' order, one of them in a quarter never seen before.
offers=0
[ "${1:-}" != --offers ] || { offers=1; shift; }
exec awk -v seed="${1:-1}" -v offers="$offers" 'BEGIN {
  srand(seed)
  split("harbour,old town,hills,north,station", quarter, ",")
  split("4600,5200,4900,2900,3500", value, ",")
  split("gas,oil,heat pump,district", heating, ",")
  print offers ? "quarter;rooms;area;built;heating" : "id,area,rooms,quarter,heating,built,price"
  for (row = 1; row <= (offers ? 5 : 3000); ++row) {
    place = 1 + int(5 * rand())
    heat = 1 + int(4 * rand())
    area = 30 + 150 * rand()
    rooms = 1 + int(area / 30 + rand())
    built = 1900 + int(124 * rand())
    price = area * value[place] * (0.8 + 0.002 * (built - 1900)) * (heat == 3 ? 1.1 : 1) * (1 + 0.05 * noise())
    gap_area = rand() < 0.05; gap_heat = rand() < 0.08; gap_built = rand() < 0.1
    if (offers)
      printf "%s;%d;%.1f;%d;%s\n", row == 5 ? "island" : quarter[place], rooms, area, built, gap_heat ? "" : heating[heat]
    else
      printf "%d,%s,%d,%s,%s,%s,%d\n", row, gap_area ? "" : sprintf("%.1f", area), rooms, quarter[place],
             gap_heat ? "" : heating[heat], gap_built ? "NA" : built, price
  }
}
function noise() { return (rand() + rand() + rand() - 1.5) * 2 }'
