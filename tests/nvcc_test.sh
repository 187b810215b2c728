#!/usr/bin/env bash
# The device code, compiled by nvcc for every GPU it is meant for: nvcc_test.sh SOURCE_DIR. No GPU is needed. A
# warning fails, and so does a kernel whose registers spill to memory.
set -euo pipefail
root=$1
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "SKIPPED: no nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
for file in "$root"/src/device/*.cu; do
  name=$(basename "$file" .cu)
  if ! "$nvcc" -std=c++20 -O3 -I"$root/src" -I"$root/include" \
      -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
      -gencode arch=compute_90,code=compute_90 -Xcompiler -Wall,-Wextra -Werror all-warnings -Xptxas -v \
      -c "$file" -o "$work/$name.o" > "$work/log" 2>&1; then
    echo "FAILED: $name.cu does not compile"; cat "$work/log"; failures=1; continue
  fi
  if grep -E '[1-9][0-9]* bytes spill' -B 2 "$work/log"; then
    echo "FAILED: registers of $name.cu spill"; failures=1
  fi
  echo "$name.cu: $(grep -c 'Used [0-9]* registers' "$work/log") kernels, at most" \
       "$(sed -nE 's/.*Used ([0-9]+) registers.*/\1/p' "$work/log" | sort -n | tail -1) registers"
done
exit $failures
