# SPDX-License-Identifier: Apache-2.0
run 2 train; says err --data
run 2 train --data digits:200 --sparsity 1.5; says err "from 0 to below 1"
run 2 train --data digits:200 --sparsity half; says err half
run 2 train --data digits:200 --init best; says err "he, glorot or ertl"
run 2 train --data digits:200 --network 784; says err "two or more"
run 2 train --data digits:200 --network 784-x-10; says err "'x'"
run 2 train --data digits:200 --network 784-0-10; says err "from 1"
run 2 train --data digits:200 --densities 0.5,,1; says err densities
run 2 train --data digits:200 --epochs 0; says err epochs
run 2 train --data digits:200 --epochs 1.5; says err "whole number"
run 2 train --data digits:200 --seed -1; says err seed
run 2 train --data digits:200 --lr nan; says err nan
run 2 train --data digits:200 --test-share 1; says err "below 1"
run 2 train --data digits:200 --data-seed x
run 2 train --data digits:200 --preset worst; says err best
run 2 train --data digits:200 --dance
run 2 train --resume "$work/a" --out "$work/b"
run 2 train --resume "$work/a" --config "$work/b"
run 1 train --data "csv:$work/none.csv"; says err none.csv
run 1 train --data "mnist:$work/none"; says err none
run 2 train --data "dance:$work"; says err dance
run 1 train --data digits:200 --network 100-16-10; says err 100; says err 784
run 1 train --data digits:200 --network 784-16-3; says err 10
run 1 train --resume "$work/none"; says err none
run 1 train --config "$work/none.toml"; says err none.toml
# bad TEXT MESSAGE: a configuration of this text is refused.
bad() {
  printf '%b\n' "$1" > "$work/bad.toml"
  run 1 train --config "$work/bad.toml" --data digits:200 --out "$work/never"
  says err "$2"
  check test ! -e "$work/never"
}
bad 'lr = "high"' "bad.toml:1: lr is \"high\""
bad '\n\nrate = 1' "bad.toml:3: unknown key \"rate\""
bad 'sparsity = 1.0' "from 0 to below 1"
bad 'init = "best"' "he, glorot or ertl"
bad 'lr = ' "bad.toml:1"
bad 'lr = 1\nlr = 2' "bad.toml:2"
bad '[data]\nfile = "x"' "bad.toml:2"
bad 'preset = "worst"' "bad.toml:1"
bad '\x01\xff' "bad.toml"
# A directory that holds a run is not overwritten.
run 0 train --data digits:200 --network 784-16-10 --epochs 1 --out "$work/run"
run 1 train --data digits:200 --network 784-16-10 --epochs 1 --out "$work/run"; says err "$work/run"
run 1 train --data digits:200 --network 784-16-10 --epochs 1 --out /dev/null/run; says err /dev/null/run
run 1 train --data digits:200 --network 784-16-10 --epochs 1 --json "$work/no/such/place"; says err "$work/no"
