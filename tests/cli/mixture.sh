# SPDX-License-Identifier: Apache-2.0
run 0 train --data contexts:3000 --network 40-32-4 --sparsity 0.8 --epochs 3 --mixtures 1 --experts 4 --out "$work/run"
says out "2 of 4 experts in hidden layer 1"; says out "experts"; says out "gates"
run 0 info "$work/run"; says out "4 experts, 2 for a row"
run 0 eval "$work/run" --data contexts:3000; says out "connections a row"
for command in "compile $work/run" "export $work/run --cpp $work/n.cpp" "bench activations $work/run --data contexts:3000" \
               "prune $work/run --method magnitude --target 0.9 --data contexts:3000 --out $work/p" \
               "prune $work/run --method lottery --target 0.9 --data contexts:3000 --out $work/p" \
               "train --start $work/run --data contexts:3000 --epochs 1"; do
  run 1 $command; says err "mixture of experts"
done
run 1 train --data contexts:3000 --network 40-32-4 --mixtures 1 --experts 4 --active-experts 5; says err "5 of 4 experts"
run 1 train --data contexts:3000 --network 40-32-4 --mixtures 2; says err "has 1"
run 1 train --data contexts:3000 --network 40-32-4 --mixtures 1 --dense; says err dense
for ((i = 0; i < 40; ++i)); do echo "$((i % 2)) $((1 + i % 2)):1 5:2"; done > "$work/s.svm"
run 1 train --data "libsvm:$work/s.svm" --network 5-8-2 --sparsity 0.1 --mixtures 1; says err sparse
run 2 train --data contexts:3000 --experts 1; says err experts
