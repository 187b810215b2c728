# SPDX-License-Identifier: Apache-2.0
run 0 --help; says out challenge
for command in demo challenge generate compile info bench "generate network" "generate images" \
               "generate challenge-files" "bench challenge" "bench kernels" "bench training" "bench accuracy" "bench export" "bench activations" "bench compression" train fetch eval predict prune grow sweep export; do
  run 0 $command --help; says out Usage
done
run 0 --version; says out 0.2
run 0 info; says out SIMD
