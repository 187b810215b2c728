# SPDX-License-Identifier: Apache-2.0
# A trained network that others made: 20 layers, relu capped at 1, pixels from 0 to 1. Its authors' accuracy is 94.94 %.
if [ ! -d "${FILIGREE_DATA:-}/networks/snicit-n128-l18" ]; then
  echo "SKIPPED: FILIGREE_DATA names no directory with networks/ and mnist/"
  exit 77
fi
run 0 convert "$FILIGREE_DATA/networks/snicit-n128-l18" "$work/snicit.safetensors" --cap 1 --input-scale 0.00392156862745098
says out "784 inputs, 20 layers, 10 outputs"; says out "relu capped at 1 after every layer but the last"
run 0 eval "$work/snicit.safetensors" --data "mnist:$FILIGREE_DATA/mnist" --part test; says out "94.94 %"
run 0 convert "$work/snicit.safetensors" "$work/snicit.onnx"
run 0 eval "$work/snicit.onnx" --data "mnist:$FILIGREE_DATA/mnist" --part test; says out "94.94 %"
run 0 compile "$work/snicit.onnx" --out "$work/smaller.safetensors"
run 0 eval "$work/smaller.safetensors" --data "mnist:$FILIGREE_DATA/mnist" --part test; says out "94.94 %"
