# SPDX-License-Identifier: Apache-2.0
if [ ! -d "${FILIGREE_DATA:-}/mnist" ]; then
  echo "SKIPPED: FILIGREE_DATA names no directory with mnist/"
  exit 77
fi
# MNIST through the generated network: the count that every published run of this size finds.
for engine in plain compiled; do
  run 0 challenge --mnist "$FILIGREE_DATA/mnist" --engine $engine --write-categories "$work/$engine.tsv"
  says out "1,812"
done
check cmp "$work/plain.tsv" "$work/compiled.tsv"
check cmp "$work/plain.tsv" "$FILIGREE_DATA/graph-challenge/neuron1024-l120-categories.tsv"
