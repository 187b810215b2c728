#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes build/venv, the environment that the Python package is built and tested in. Says nothing if it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=python/tests/requirements.txt
if [ -x build/venv/bin/python ] && cmp -s "$wanted" build/venv/requirements.txt; then exit 0; fi
echo "filigree: making an environment for Python in build/venv" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { python3 -m venv build/venv && build/venv/bin/pip install --disable-pip-version-check --requirement "$wanted"; } > "$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "filigree: the Python environment could not be made" >&2
  exit 1
fi
cp "$wanted" build/venv/requirements.txt
