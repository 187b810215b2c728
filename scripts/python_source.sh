#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Debian 13's Python from its source package in build/python3.13, for a Debian whose own Python is older than the
# stable ABI that nanobind needs (3.12). Four minutes on one core, once. Prints where the interpreter is.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/build/python3.13
if [ ! -x "$place/bin/python3.13" ]; then
  echo "filigree: building Python 3.13 in build/python3.13" >&2
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  mirror=$(apt-cache policy base-files | awk '$2 ~ /^https?:/ { print $2; exit }')  # where this machine gets its own
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} trixie main" \
    > "$work/sources.list"
  apt() {
    apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
      -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" "$@"
  }
  make_python() {
    apt update && cd "$work" && apt source --download-only python3.13 && tar -xJf python3.13_*.orig.tar.xz && cd Python-3.13.* &&
      ./configure --prefix="$place.part" --disable-test-modules --without-static-libpython &&
      make -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" && make install
  }
  rm -rf "$place.part"
  if ! (make_python) > "$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    echo "filigree: Python 3.13 could not be built; PYTHON312=… names a Python from 3.12 on that is there" >&2
    exit 1
  fi
  mv "$place.part" "$place"
fi
echo "$place/bin/python3.13"
