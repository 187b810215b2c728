# SPDX-License-Identifier: Apache-2.0
run 2; says err --help
run 2 dance; says err dance
run 2 generate dance; says err dance
run 2 challenge --dance
run 2 challenge --neurons many
run 2 challenge --engine fast; says err plain
run 2 challenge --inputs 0
run 2 challenge --threads -1
run 2 challenge --neurons 512 --layers 2 --inputs 10; says err 512
run 2 generate network
run 2 compile
run 2 bench kernels --neurons 16
run 2 challenge --neurons 100 --layers 2 --inputs 10; says err 100
run 2 challenge --seed -1
run 2 challenge --seed 18446744073709551616
run 2 challenge --layers -3
run 2 compile here --neurons 256 --layers -3
for size in -1 0 abc 5XB 99999999999999999999 -5GB; do
  run 2 challenge --memory-limit $size; says err "no size"
done
run 0 challenge --neurons 64 --layers 2 --inputs 10 --memory-limit 1.5GB
run 1 challenge --neurons 256 --inputs 16777216 --memory-limit 50MB; says err "memory limit"
# Nobody hears the message, but the exit code stays.
code=0; "$program" challenge --neurons 1000 2>&- || code=$?
check test "$code" -eq 2
code=0; "$program" info "$work/none" > /dev/full 2> /dev/full || code=$?
check test "$code" -eq 1
