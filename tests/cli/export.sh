# SPDX-License-Identifier: Apache-2.0
compiler=${CXX:-c++}
command -v "$compiler" > /dev/null || { echo "SKIPPED: no $compiler"; exit 77; }
for settings in "--sparsity 0.95" "--sparsity 0.7 --activation tanh --loss mse" "--dense --activation leaky-relu --network 784-40-10" \
                "--sparsity 0.5 --activation sigmoid --network 784-10" "--sparsity 0.9 --activation softplus --optimizer lion --lr 0.001"; do
  rm -rf "$work/run"
  run 0 train --data digits:400 --epochs 2 $settings --out "$work/run"
  run 0 export "$work/run" --cpp "$work/net.cpp" --json "$work/e.json"; says out "extern"; says out net_test.cpp
  check "$compiler" -std=c++17 -Wall -Wextra -Werror -O1 "$work/net_test.cpp" -o "$work/net_test"
  check "$work/net_test"
done
# The test finds a program that computes something else.
check sed -i '0,/y\[3\] = /s//y[3] = 0.5f + /' "$work/net.cpp"
check "$compiler" -std=c++17 "$work/net_test.cpp" -o "$work/net_test"
check test "$("$work/net_test" > /dev/null; echo $?)" -eq 1
run 0 export "$work/run" --cpp "$work/other.cpp" --name digit; says out digit
check grep -q 'extern "C" void digit(' "$work/other.cpp"
run 0 bench export "$work/run" --data digits:400 --repeat 3 --json "$work/e.json"; says out "program is"
run 2 bench export "$work/run" --data "digits:0"; run 1 export "$work/none" --cpp "$work/net.cpp"; says err none
run 2 export "$work/run"; says err --cpp
run 2 export "$work/run" --cpp "$work/net.cpp" --name "3d"; says err 3d
run 2 export "$work/run" --cpp "$work/net.cpp" --name "int"; says err int
run 2 export "$work/run" --cpp -; says err --cpp
# Means far from zero are not folded into biases.
for ((i = 0; i < 60; ++i)); do echo "$((i % 2)),$((100000 + i % 7 + 3 * (i % 2))),$((i % 5))"; done > "$work/far.csv"
rm -rf "$work/run"; run 0 train --data "csv:$work/far.csv" --network 2-8-2 --sparsity 0 --epochs 5 --out "$work/run"
run 0 export "$work/run" --cpp "$work/net.cpp"
check grep -q 'mean\[i\]' "$work/net.cpp"
check "$compiler" -std=c++17 -Wall -Wextra -Werror "$work/net_test.cpp" -o "$work/net_test"
check "$work/net_test"
run 1 export "$work/run" --cpp "$work/none/net.cpp"; says err none
