#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes an environment for Python and says nothing if it is there: scripts/python_env.sh [torch].
#   build/venv         what the package is built and tested with, from PyPI
#   build/venv-torch   with torch: Debian's PyTorch, for the CPU alone, and Debian's NumPy and SciPy, the oldest that will do
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  "") place=build/venv options="" ;;
  torch) place=build/venv-torch options=--system-site-packages ;;
  *) echo "usage: scripts/python_env.sh [torch]" >&2; exit 2 ;;
esac
wanted=python/tests/requirements${1:+-$1}.txt
if [ -x "$place/bin/python" ] && cmp -s "$wanted" "$place/requirements.txt"; then exit 0; fi
python=/usr/bin/python3  # Debian's, whose headers and PyTorch scripts/packages.sh installs
[ -x "$python" ] || python=python3
echo "filigree: making an environment for Python in $place" >&2
log=$(mktemp)
trap 'rm -f "$log" "$log.versions"' EXIT
fill() {
  "$python" -m venv --clear $options "$place" || return
  : > "$log.versions"
  if [ -n "$options" ]; then  # no package may bring a NumPy that Debian's PyTorch was not built for
    "$place/bin/python" -c 'import numpy, scipy; print(f"numpy=={numpy.__version__}\nscipy=={scipy.__version__}")' > "$log.versions" || return
  fi
  "$place/bin/pip" install --disable-pip-version-check --constraint "$log.versions" --requirement "$wanted"
}
if ! fill > "$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "filigree: the Python environment could not be made" >&2
  exit 1
fi
cp "$wanted" "$place/requirements.txt"
