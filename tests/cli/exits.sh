# SPDX-License-Identifier: Apache-2.0
run 0 train --data digits:600 --network 784-40-40-40-10 --sparsity 0.8 --epochs 3 --exits 1,2 --out "$work/run" --json "$work/t.json"
says out "exits behind hidden layer 1, 2"; says out "exits       80 + 80"
run 0 info "$work/run"; says out "behind layer 1: 80 connections"
run 0 eval "$work/run" --data digits:600 --json "$work/all.json"; says out "connections a row"
run 0 eval "$work/run" --data digits:600 --exit-threshold 0 --json "$work/none.json"
says out "120 behind layer 1, 0 behind layer 2, 0 at the end"
run 0 eval "$work/run" --data digits:600 --exit-curve --plot "$work/curve.svg" --json "$work/c.json"
says out "connections/row"; says out curve.svg
check grep -q '"threshold": 0.5' "$work/c.json"; check grep -q '</svg>' "$work/curve.svg"
run 0 compile "$work/run" --out "$work/c.safetensors"; says out "are left out"
run 1 eval "$work/c.safetensors" --data digits:600 --exit-curve; says err "no exits"
run 2 eval "$work/c.safetensors" --data digits:600 --exit-threshold 0.5; says err "no exits"
run 2 eval "$work/run" --data digits:600 --exit-threshold 2; says err --exit-threshold
run 2 eval "$work/run" --data digits:600 --exit-threshold 0.5 --exit-curve; says err --exit-curve
run 2 eval "$work/run" --data digits:600 --plot "$work/p.svg"; says err --exit-curve
run 1 eval "$work/run" --data digits:600 --exit-curve --plot "$work/none/p.svg"; says err none
for ((i = 0; i < 784; ++i)); do printf '%s%d' "$([ $i -gt 0 ] && echo ,)" $((i % 256)); done > "$work/row.csv"; echo >> "$work/row.csv"
run 0 predict "$work/run" --input "$work/row.csv" --out "$work/p.csv" --exit-threshold 0.2
check test "$(wc -l < "$work/p.csv")" -eq 2
# Heads for a network that has none, and for one that has.
run 0 train --data digits:600 --network 784-30-30-10 --sparsity 0.8 --epochs 2 --out "$work/plain"
run 0 train --start "$work/plain" --data digits:600 --epochs 1 --exits 2 --out "$work/more"
run 0 info "$work/more"; says out "behind layer 2"
run 0 train --start "$work/more" --data digits:600 --epochs 1 --out "$work/again"
run 0 info "$work/again"; says out "behind layer 2"
run 1 prune "$work/run" --method magnitude --target 0.9 --data digits:600 --out "$work/p"; says err "plain networks"
run 1 train --data digits:600 --network 784-40-10 --exits 2; says err "has 1"
run 2 train --data digits:600 --exits 0; says err exits
run 2 train --data digits:600 --exits one; says err exits
for n in 3 5 100 16777216; do run 1 train --start "$work/plain" --data digits:600 --epochs 1 --exits $n; says err "has 2"; done
run 1 train --start "$work/more" --data digits:600 --epochs 1 --exits 1; says err "already"
run 1 train --start "$work/plain" --data digits:600 --epochs 1 --mixtures 1; says err "mixtures"
run 0 train --data digits:600 --network 784-30-30-10 --sparsity 0 --epochs 1 --exits 1 --out "$work/full"
run 1 train --start "$work/full" --dense --data digits:600 --epochs 1; says err "the exit behind layer 1"
run 1 prune "$work/full" --method lottery --target 0.9 --data digits:600 --epochs 2 --out "$work/l"; says err "plain networks"
run 2 grow --data digits:600 --budget 6000 --exits 1 --out "$work/g"; says err exits
run 0 export "$work/run" --cpp "$work/n.cpp"; says out "are left out"
