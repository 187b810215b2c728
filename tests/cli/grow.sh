# SPDX-License-Identifier: Apache-2.0
run 0 grow --data digits:600 --network 784-8-8-10 --budget 2000 --stages 2 --deepen 1 --prune 0.2 --epochs 2 --update-every 2 \
      --out "$work/run" --json "$work/g.json"
says out "budget      2,000 connections, 4,000 floating-point"; says out "one more layer"; says out "prune 20 %"
check grep -q '"connections": 1' "$work/g.json"
run 0 eval "$work/run" --data digits:600; says out accuracy
run 0 bench activations "$work/run" --data digits:600 --repeat 3; says out "never on"; says out "one by one"
run 0 grow --resume "$work/run"; says out "written"
run 1 grow --data digits:600 --budget 2000 --network 784-8-8-10 --out "$work/run"; says err "holds a run already"
run 1 grow --data digits:600 --flops 100 --network 784-8-8-10 --out "$work/none"; says err "budget of 50"
run 2 grow --data digits:600 --out "$work/none"; says err --budget
run 2 grow --data digits:600 --budget 10 --flops 20 --out "$work/none"; says err --budget
run 2 grow --budget 5000; says err --data
run 1 grow --resume "$work/none"; says err none
run 2 grow --resume "$work/run" --epochs 9; says err --epochs
run 1 grow --data digits:600 --budget 2000 --network 784-8-8-10 --update-every 5000 --out "$work/none"; says err update-every
run 1 grow --data digits:600 --budget 2000 --network 70-8-8-10 --out "$work/none"; says err "70 inputs"
run 1 grow --data digits:600 --budget 2000 --network 784-8-8-10 --activation tanh --deepen 1 --update-every 2 --out "$work/none"
says err tanh
