#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package: python_test.sh BUILD SOURCE PYTHON all|torch|asan [RUNTIME].
#   all    every test, and the examples of the docstrings
#   torch  what is about PyTorch, and the core with the NumPy and SciPy that it came with; skipped without FILIGREE_ALL
#   asan   every test with AddressSanitizer's RUNTIME loaded first, without those that start other programs
set -euo pipefail
build=$1 source=$2 python=$3 what=$4
export PYTHONPATH=$build/python
options=(-q --no-header -p no:cacheprovider --doctest-modules)
case "$what" in
  all) options+=(--doctest-ignore-import-errors) ;;
  torch)
    options+=(-k "torch or transformer or core or pages")
    [ -n "${FILIGREE_ALL:-}" ] || { echo "skipped: FILIGREE_ALL is not set"; exit 77; }
    "$python" -c 'import torch, filigree_nn.torch; print("PyTorch", torch.__version__)'  # a missing one is no skip
    ;;
  asan)
    options+=(--doctest-ignore-import-errors "--ignore=$source/python/tests/test_examples.py"
      "--ignore=$source/python/tests/test_bench.py" --capture=sys)  # reports are written past Python
    # Exceptions are thrown through the run-time library, which needs C++'s own from the start. Python never frees all.
    export LD_PRELOAD="$5 $("${CXX:-g++}" -print-file-name=libstdc++.so.6)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc
    ;;
  *) echo "python_test.sh: $what is not known" >&2; exit 2 ;;
esac
exec "$python" -X dev -m pytest "${options[@]}" "$build/python/filigree_nn" "$source/python/tests"
