#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing for what is asked: scripts/packages.sh SET …
#   build     the program and the library       peers     what benchmarks measure filigree against
#   test      the test suite                    sanitize  the builds with sanitizers and the fuzzers
#   lint      clang-tidy                        room      scripts/clean_room.sh
#   python    what the Python package is built with      torch     PyTorch for the CPU, and its NumPy and SciPy
#   wheel     a Python for scripts/wheel.sh, if need be
# Says nothing if all are there.
set -euo pipefail

build="g++ cmake ninja-build pkg-config libhwy-dev libfmt-dev libcli11-dev nlohmann-json3-dev
       zlib1g-dev libzstd-dev libkissfft-dev libdnnl-dev libtomlplusplus-dev libprotozero-dev
       libcurl4-openssl-dev libssl-dev dataset-fashion-mnist"
peers="libgraphblas-dev libeigen3-dev"
test="libgtest-dev libgmock-dev librapidcheck-dev clang-format"
python="python3-dev python3-venv"
torch="python3-torch python3-numpy python3-scipy"
wheel="make xz-utils zlib1g-dev libssl-dev"
sanitize="clang libclang-rt-dev llvm"
lint="clang-tidy"
room="debootstrap"

wanted=""
for set in "${@:-build}"; do
  case "$set" in
    build | peers | test | sanitize | lint | room | python | torch | wheel) wanted="$wanted ${!set}" ;;
    *) echo "usage: scripts/packages.sh build|peers|test|sanitize|lint|room|python|torch|wheel …" >&2; exit 2 ;;
  esac
done

command -v dpkg-query > /dev/null || {
  echo "filigree: this is no Debian system; install these yourself:" $wanted >&2
  exit 1
}
installed=" $(dpkg-query -W -f='${db:Status-Status} ${Package} ' $wanted 2> /dev/null || true)"
missing=""
for package in $wanted; do
  [[ "$installed" == *" installed $package "* ]] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "filigree: installing$missing" >&2
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || { echo "filigree: run this as root, or install sudo" >&2; exit 1; }
  sudo=sudo
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } > "$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "filigree: apt-get could not install$missing" >&2
  exit 1
fi
