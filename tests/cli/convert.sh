# SPDX-License-Identifier: Apache-2.0
# Networks from other programs' files and into them, and every command on them.
echo "a,b,y" > "$work/s.csv"
for i in $(seq 1 60); do echo "$i,$((i * 7 % 13)),$((i > 30))"; done >> "$work/s.csv"
run 0 train --data "$work/s.csv" --label-column y --network 2-16-2 --sparsity 0.3 --epochs 40 --out "$work/run"
run 0 predict "$work/run" --input "$work/s.csv" --out "$work/expected.csv"
for form in onnx safetensors; do
  run 0 convert "$work/run" "$work/net.$form"; says out written
  run 0 predict "$work/net.$form" --input "$work/s.csv" --out "$work/found.csv"
  check cmp "$work/expected.csv" "$work/found.csv"
  run 0 convert "$work/net.$form" "$work/back.safetensors" --json "$work/c.json"; check grep -q '"zeros"' "$work/c.json"
  run 0 info "$work/net.$form"; says out "2 inputs"
done
run 0 convert "$work/run" "$work/sparse.onnx" --sparse --opset 20
run 0 predict "$work/sparse.onnx" --input "$work/s.csv" --out "$work/found.csv"; check cmp "$work/expected.csv" "$work/found.csv"
# A state dict and matrices have no place for the scaling of inputs: said, not lost.
run 1 convert "$work/run" "$work/state.safetensors" --form state-dict; says err "no place for the scaling of inputs"
run 0 train --data "$work/s.csv" --label-column y --network 2-16-2 --sparsity 0.3 --epochs 5 --scaling none --out "$work/plain"
for form in state-dict scipy matrix-market; do
  out=$work/$form; [ $form != state-dict ] || out=$work/state.safetensors
  run 0 convert "$work/plain" "$out" --form $form
  run 0 convert "$out"; says out "$form"; says out "relu after every layer but the last"
  run 0 predict "$out" --input "$work/s.csv" --label-column y --raw --out "$work/found.csv"; says err "note: "
done
run 2 convert "$work/run" "$work/x.parquet"; says err "written as .safetensors"
run 2 convert "$work/run" "$work/x.onnx" --opset 3
run 1 convert "$work/s.csv"; says err "s.csv"
run 1 convert "$work/nothing.onnx"; says err "nothing.onnx"
head -c 100 "$work/net.onnx" > "$work/cut.onnx"
run 1 convert "$work/cut.onnx"; says err "cut.onnx: not an ONNX model, or a damaged one"
printf '\x80\x02}q' > "$work/state.pt"
run 1 convert "$work/state.pt"; says err "read in Python alone"
printf 'x' | dd of="$work/back.safetensors" bs=1 seek=$(($(stat -c %s "$work/back.safetensors") - 3)) conv=notrunc 2> /dev/null
run 1 predict "$work/back.safetensors" --input "$work/s.csv" --out "$work/found.csv"; says err "is damaged: its CRC-32 is"
# Whether sparsity pays here.
run 0 analyze "$work/net.onnx" --batch 1,40 --seconds 0.01 --plot "$work/roof.svg" --json "$work/a.json"
says out "as fast as dense 32-bit floats here at 1 and 40 rows"; check grep -q "operations a byte" "$work/roof.svg"
for field in summary dense_rate copy_rate network layers speed_up structure kernel compute_share memory_share advice; do
  check grep -q "\"$field\"" "$work/a.json"
done
run 1 analyze "$work/cut.onnx"
run 2 analyze "$work/net.onnx" --batch 0
run 2 analyze
