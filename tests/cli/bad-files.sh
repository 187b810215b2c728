# SPDX-License-Identifier: Apache-2.0
make_challenge
layer="$work/c/neuron256/n256-l3.tsv"
cp "$layer" "$work/layer"
# spoil TEXT MESSAGE: line 100 becomes TEXT, and the error names file, line and what is wrong.
spoil() {
  printf '%b\n' "$1" > "$work/line"
  sed -e "100r $work/line" -e 100d "$work/layer" > "$layer"
  run 1 challenge --neurons 256 --data "$work/c" --write-categories "$work/none" --json "$work/none.json"
  says err "n256-l3.tsv:100"; says err "$2"
  check test ! -e "$work/none"; check test ! -e "$work/none.json"
}
spoil '257\t3\t0.0625' "256 neurons"
spoil '3\t257\t0.0625' "256 neurons"
spoil '0\t3\t0.0625' "start at 1"
spoil '-4\t3\t0.0625' "start at 1"
spoil 'x\t3\t0.0625' "not a whole number"
spoil '3\t3' "field"
spoil '3\t3\t0.0625\t1' "field"
spoil '3\t3\tabc' "not a number"
spoil '3\t3\tnan' "not finite"
spoil '3\t3\t1e99' "float"
spoil '99999999999999999999\t3\t0.0625' "256 neurons"
spoil '\x01\x02\x00\xff' "n256-l3.tsv"
duplicate=$(sed -n 50p "$work/layer"); { cat "$work/layer"; echo "$duplicate"; } > "$layer"
run 1 challenge --neurons 256 --data "$work/c"; says err "again"; says err ":8193"
: > "$layer"; run 1 challenge --neurons 256 --data "$work/c"; says err "empty"
head -c 1000 "$work/layer" | gzip | head -c 200 > "$layer"; run 1 challenge --neurons 256 --data "$work/c"; says err "n256-l3.tsv"
rm "$layer"; run 1 challenge --neurons 256 --data "$work/c"; says err "n256-l3.tsv"
mkdir "$layer"; run 1 challenge --neurons 256 --data "$work/c"; says err "n256-l3.tsv"
rmdir "$layer"; cp "$work/layer" "$layer"
run 1 challenge --neurons 256 --data "$work/c" --layers 13; says err "12 layers"
run 1 challenge --neurons 256 --data "$work/c" --inputs 1501; says err "1500 images, but 1501"
run 1 challenge --neurons 1024 --data "$work/c"; says err "1024"
run 1 challenge --neurons 256 --data "$work/nowhere"; says err nowhere
run 1 challenge --mnist "$work/nowhere"; says err nowhere
echo junk > "$work/train-images-idx3-ubyte"; run 1 challenge --mnist "$work"; says err train-images
rm "$work/c/sparse-images-256.tsv"; run 1 challenge --neurons 256 --data "$work/c"; says err sparse-images-256
run 1 info "$work/nowhere"; says err nowhere
run 1 info "$work/layer"; says err layer
run 0 info "$work/c"; says out "12 layers"; mkdir "$work/empty"; run 1 info "$work/empty"; says err neuron
