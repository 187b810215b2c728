# SPDX-License-Identifier: Apache-2.0
# Files of version 0.1.0: tests/old holds a model with the predictions that it made then, and a run that was stopped
# in its 14th of 150 epochs, which ends as the model's did. Settings were TOML in checkpoints, too.
cp -r "$here/old" "$work/old"
cd "$work/old" || exit 1
cut -d, -f2- rows.csv > inputs.csv
# alike FILE: the same classes, and probabilities that differ by less than other orders of summation can make of them.
alike() {
  paste -d, predictions.csv <(head -n "$(wc -l < predictions.csv)" "$1") | awk -F, '
    NR > 1 { if ($1 != $5) bad = 1; for (i = 2; i <= 4; ++i) if (($i - $(i + 4)) ^ 2 > 1e-6) bad = 1 }
    END { exit bad || NR < 20 }' || { echo "FAILED: $1 differs from predictions.csv"; failures=1; }
}
run 0 predict model.safetensors --input inputs.csv --out now.csv; alike now.csv
run 0 info model.safetensors; says out "3 inputs, 3 layers, 3 outputs"
run 0 eval model.safetensors --data csv:rows.csv --part all; says out accuracy
run 0 train --resume begun; says out "150 epochs"
run 0 predict begun --input inputs.csv --out resumed.csv; alike resumed.csv
run 0 train --config begun/config.toml --out again -q
run 0 predict again --input inputs.csv --out again.csv; alike again.csv
