# SPDX-License-Identifier: Apache-2.0
run 0 info --devices --json "$work/d.json"; says out "cuda 0      emulated"; check grep -q '"compute_capability"' "$work/d.json"
run 0 challenge --device cuda --layers 20 --inputs 60 --json "$work/c.json"; says out "device      emulated"; says out "the same"
check grep -q '"device": "emulated"' "$work/c.json"
for kernel in fused spmm spgemm spgemm-kept; do
  run 0 challenge --device cuda --engine plain --kernel $kernel --layers 3 --inputs 40; says out "the same"
  run 0 challenge --device cuda --engine plain --kernel $kernel --layers 3 --inputs 40 --no-filter; says out "the same"
done
run 0 challenge --device cuda --engine plain --kernel tiled --neurons 64 --layers 3 --inputs 40; says out "the same"
run 0 train --device cuda --data digits:300 --network 784-16-12-10 --batch 64 --sparsity 0.9 --epochs 1 --update-every 2 --out "$work/run"
says out "on emulated"; says out 1,286; check test -s "$work/run/model.safetensors"
run 0 train --data digits:300 --network 784-16-12-10 --batch 64 --sparsity 0.9 --epochs 1 --update-every 2 --out "$work/cpu"
run 0 eval "$work/run" --data digits:300 --device cuda --json "$work/e.json"
run 0 eval "$work/cpu" --data digits:300 --json "$work/f.json"
check test "$(grep '"accuracy"' "$work/e.json")" = "$(grep '"accuracy"' "$work/f.json")"
for ((i = 0; i < 784; ++i)); do printf '%s%d' "$([ $i -gt 0 ] && echo ,)" $((i % 256)); done > "$work/row.csv"; echo >> "$work/row.csv"
run 0 predict "$work/run" --input "$work/row.csv" --out "$work/p.csv" --device cuda
check test "$(wc -l < "$work/p.csv")" -eq 2
run 2 challenge --device cuda --kernel spmm --layers 3 --inputs 40; says err "--engine plain"
run 2 challenge --engine plain --kernel spmm --layers 3 --inputs 40; says err "on the CPU"
run 2 challenge --device opencl; says err cuda
run 1 train --device cuda --data digits:300 --network 784-16-12-10 --exits 1; says err "--device cpu"
run 1 challenge --device cuda --gpus 2 --layers 3 --inputs 40; says err "2 GPUs are asked for, but there are 1"
export FILIGREE_EMULATED="devices=2"
run 0 challenge --device cuda --gpus 0 --layers 3 --inputs 40; says out "2 × emulated"; says out "the same"
run 0 train --device cuda --gpus 2 --data digits:200 --network 784-16-10 --batch 64 --sparsity 0.9 --epochs 1; says out "2 × emulated"
export FILIGREE_EMULATED="driver=0"
run 1 challenge --device cuda --layers 3 --inputs 40; says err "no CUDA driver"; says err "--device cpu"
run 0 challenge --device auto --layers 3 --inputs 40; says err "running on the CPU: no CUDA driver"; check test "$(wc -l < "$work/err")" -eq 1
run 0 info --devices; says out "none: no CUDA driver"
export FILIGREE_EMULATED="devices=0"
run 1 challenge --device cuda --layers 3 --inputs 40; says err "finds no GPU"
export FILIGREE_EMULATED="memory=1000000"
run 1 challenge --device cuda --layers 3 --inputs 40; says err "has 1000000 of 1000000 bytes free"; says err "--device cpu"
FILIGREE_EMULATED="memory=200000" run 1 train --device cuda --data digits:300 --network 784-16-12-10 --epochs 1; says err "out of memory"; says err "--device cpu"
