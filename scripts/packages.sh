#!/usr/bin/env bash
# Installs the Debian packages that are missing for what is asked: scripts/packages.sh build|test|lint.
# Says nothing if all are there.
set -euo pipefail

build="g++ cmake ninja-build pkg-config libhwy-dev libtbb-dev libfmt-dev libcli11-dev nlohmann-json3-dev
       zlib1g-dev libzstd-dev libfftw3-dev libgraphblas-dev libeigen3-dev libdnnl-dev libtomlplusplus-dev
       libcurl4-openssl-dev libssl-dev dataset-fashion-mnist"
tests="libgtest-dev libgmock-dev librapidcheck-dev clang-format clang libclang-rt-dev libomp-dev llvm"
lint="clang-tidy"

case "${1:-build}" in
  build) wanted="$build" ;;
  test) wanted="$build $tests" ;;
  lint) wanted="$build $tests $lint" ;;
  *) echo "usage: scripts/packages.sh build|test|lint" >&2; exit 2 ;;
esac

command -v dpkg-query > /dev/null || {
  echo "filigree: this is no Debian system; install these yourself:" $wanted >&2
  exit 1
}
missing=""
for package in $wanted; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null | grep -q '^installed$' || missing="$missing $package"
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
