#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Includes point down the layer map only: layers_test.sh SOURCE_DIR. With --self-test it must catch planted breaches.
set -euo pipefail

# What each room may include besides itself and the vocabulary, top to bottom.
allowed() {
  case $1 in
    base) echo "" ;;
    sparse) echo "base" ;;
    io) echo "base sparse" ;;
    fetch) echo "base sparse io" ;;
    data) echo "base sparse io" ;;
    kernels) echo "base sparse" ;;
    device) echo "base sparse kernels" ;;
    network) echo "base sparse io data kernels device" ;;
    interchange) echo "base sparse io data kernels device network" ;;
    compile) echo "base sparse io data kernels device network interchange" ;;
    infer) echo "base sparse io data kernels device network interchange compile" ;;
    train) echo "base sparse io data kernels device network interchange compile infer" ;;
    recipes) echo "base sparse io data kernels device network interchange compile infer train dist report" ;;
    dist) echo "base sparse io data kernels device network interchange compile infer train" ;;
    report) echo "base sparse io data kernels device network interchange compile infer train dist" ;;
    api) echo "base sparse io data kernels device network interchange compile infer train dist report recipes" ;;
  esac
}

# Public headers: values that every room may include, and those that a room defines, which it and rooms above it may.
values="vocabulary columns activation loss optimizer sparse rows options reports runtime scaling version"
defined_by() {
  case $1 in
    session) echo base ;;
    data) echo data ;;
    network) echo network ;;
    interchange) echo interchange ;;
    plan | export) echo compile ;;
    evaluate | predict) echo infer ;;
    train) echo train ;;
    fetch) echo fetch ;;
    *) echo recipes ;;
  esac
}

# The room of an include line's target, or nothing for system headers.
check() {
  local root=$1 failures=0 file room include target name
  for file in $(find "$root/src" -name '*.h' -o -name '*.cpp' -o -name '*.cu' | sort); do
    room=${file#"$root/src/"}
    room=${room%%/*}
    while read -r include; do
      target=${include%%/*}
      case "$include" in
        filigree/*)
          name=${include#filigree/}
          name=${name%.h}
          [[ " $values " == *" $name "* ]] && continue
          target=$(defined_by "$name")
          [ "$room" = api ] && continue
          ;;
        fuzz/targets.h) [[ "$file" == *corpus_test.cpp ]] && continue ;;
      esac
      [ "$target" = "$room" ] && continue
      # Tests may look down from where they stand, and reach the room they check with.
      if [[ "$file" == *_test.cpp ]] && [ "$target" = infer ] && [ "$room" = compile ]; then continue; fi
      if ! grep -qw -- "$target" <<< "$(allowed "$room")"; then
        echo "${file#"$root"/}: includes $include, but $room may include only: $(allowed "$room")"
        failures=1
      fi
    done < <(sed -nE 's/^#include "([^"]+)".*/\1/p' "$file")
  done
  # Private headers keep their names in filigree::internal; what they define of public classes is filigree's own.
  for file in $(find "$root/src" "$root/bench" -name '*.h' 2> /dev/null | sort); do
    if awk '/^namespace filigree \{$/ { ours = 1; next } /^}/ && ours && /namespace filigree$/ { ours = 0 }
            ours && /^[A-Za-z\[]/ && !/^struct [A-Za-z]+::[A-Za-z]+/ { found = 1 } END { exit !found }' "$file"; then
      echo "${file#"$root"/}: private names belong in namespace filigree::internal"
      failures=1
    fi
  done
  for file in $(find "$root/cli" -name '*.h' -o -name '*.cpp' | sort); do
    if sed -nE 's/^#include "([^"]+)".*/\1/p' "$file" | grep -vE '^(cli|filigree)/'; then
      echo "${file#"$root"/}: the command line includes the public API only"
      failures=1
    fi
  done
  if grep -nE '#include <(hwy|fmt|nlohmann|CLI|kissfft|zlib|zstd)' -r "$root/include"; then
    echo "include/: public headers name standard types only"
    failures=1
  fi
  # The pictures and the text of the architecture name files that exist.
  if [ -f "$root/docs/ARCHITECTURE.md" ]; then
    while read -r name; do
      [ -e "$root/src/$name" ] || [ -e "$root/$name" ] || compgen -G "$root/src/$name*" > /dev/null || {
        echo "docs/ARCHITECTURE.md: names $name, which does not exist"
        failures=1
      }
    done < <(grep -oE '\b(base|sparse|io|fetch|data|kernels|device|network|interchange|compile|infer|train|report|recipes|api|cli|bench)/(rules/)?[a-z_]+(-inl)?(\.(h|cpp|cu))?' \
      "$root/docs/ARCHITECTURE.md" | sort -u)
  fi
  return $failures
}

if [ "${1:-}" = --self-test ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work"/src/base "$work"/src/kernels "$work"/cli "$work"/include/filigree
  echo '#include "filigree/vocabulary.h"' > "$work/src/base/fine.h"
  check "$work" || { echo "a sound tree was refused"; exit 1; }
  breach() {
    echo "$2" > "$work/$1"
    if check "$work" > /dev/null; then echo "not caught: $2 in $1"; exit 1; fi
    rm "$work/$1"
  }
  breach src/kernels/up.h '#include "infer/executor.h"'
  breach src/base/up.cpp '#include "sparse/csr.h"'
  breach src/kernels/api.h '#include "filigree/challenge.h"'
  breach cli/inside.cpp '#include "kernels/spmm.h"'
  breach include/filigree/leak.h '#include <fmt/format.h>'
  breach src/base/names.h $'namespace filigree {\nvoid f();\n}  // namespace filigree'
  mkdir "$work/docs"
  breach docs/ARCHITECTURE.md 'see `kernels/gone.cpp`'
  exit 0
fi
check "$1"
