#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library as others use it: consumer_test.sh BUILD_DIR SOURCE_DIR. Installs it, moves the tree, and builds a program
# by find_package (shared and static), by pkg-config (shared and static), from C, and, with FILIGREE_ALL set, by add_subdirectory.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" > "$work/install.log"
mv "$work/first" "$work/prefix"  # nothing may depend on where it was
prefix=$work/prefix
libraries=$(dirname "$(find "$prefix" -name 'libfiligree.so')")
export LD_LIBRARY_PATH=$libraries

quietly() { "$@" > "$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }; }
for way in shared static; do
  quietly cmake -S "$source/tests/consumer" -B "$work/$way" -G Ninja -DWAY=$way -DCMAKE_PREFIX_PATH="$prefix"
  quietly cmake --build "$work/$way"
  echo "find_package, $way:"
  "$work/$way/consumer"
done
[[ "$(readelf -d "$work/shared/consumer")" == *"libfiligree.so.0.2"* ]] || { echo "not linked to the shared library"; exit 1; }
[[ "$(readelf -d "$work/static/consumer")" != *libfiligree* ]] || { echo "not linked to the static library"; exit 1; }

export PKG_CONFIG_PATH=$libraries/pkgconfig
for way in "" --static; do
  ${CXX:-c++} -std=c++20 "$source/tests/consumer/main.cpp" -o "$work/pkg" $(pkg-config --cflags filigree) \
    $([ -z "$way" ] || echo -Wl,-Bstatic) $(pkg-config --libs-only-L --libs-only-l filigree) \
    $([ -z "$way" ] || echo -Wl,-Bdynamic $(pkg-config --static --libs filigree | sed 's/-lfiligree//'))
  echo "pkg-config $way:"
  "$work/pkg"
done

# What ./run installs has the static library alone: pkg-config then names all that it links.
mkdir "$work/alone" "$work/lonely"
cmake -S "$source" -B "$work/lonely" -G Ninja -DBUILD_SHARED_LIBS=OFF -DFILIGREE_PROGRAM=OFF -DFILIGREE_CUDA=OFF > "$work/log"
cp "$libraries/libfiligree.a" "$work/alone"
sed "s|^libdir=.*|libdir=$work/alone|; s|^includedir=.*|includedir=$prefix/include|" "$work/lonely/filigree.pc" > "$work/alone/filigree.pc"
${CXX:-c++} -std=c++20 "$source/tests/consumer/main.cpp" -o "$work/pkg" $(PKG_CONFIG_PATH=$work/alone pkg-config --cflags --libs filigree)
echo "pkg-config, no shared library:"
"$work/pkg"

# From C, with a model that the installed program trained.
program=$(find "$prefix" -name filigree -type f -perm -u+x)
"$program" train --data digits:300 --network 784-16-10 --epochs 2 --out "$work/run" -q
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source/tests/consumer/main.c" -o "$work/in_c" $(pkg-config --cflags --libs filigree)
"$work/in_c" "$work/run"

# No file speaks of the machine that built it, and nothing is loaded from where a path happens to lead.
if grep -rnE "(^|[^A-Za-z0-9_./}-])($build|$source)(/|\"|\$)" "$prefix" --include='*.cmake' --include='*.pc' --include='*.h'; then
  echo "installed files name the build machine's directories"
  exit 1
fi
while read -r file; do
  if readelf -d "$file" 2> /dev/null | grep -E 'RPATH|RUNPATH'; then
    echo "$file: has a library path"
    exit 1
  fi
  # Shifted code, calls resolved before the first line runs, no stack that executes, and canaries on it.
  headers=$(readelf -dlW "$file" 2> /dev/null) || continue
  [[ "$headers" == *"There is no dynamic section"* || "$headers" != *"Elf file type is DYN"* ]] && continue
  grep -qE 'FLAGS.* (BIND_)?NOW' <<< "$headers" || { echo "$file: is not linked with -z now"; exit 1; }
  ! grep -qE 'GNU_STACK.* RWE' <<< "$headers" || { echo "$file: has a stack that executes"; exit 1; }
  [[ "$(readelf -sW --dyn-syms "$file")" == *__stack_chk_fail* ]] || { echo "$file: has no stack protector"; exit 1; }
done < <(find "$prefix" "$build"/filigree "$build"/plugins "$build"/src/*.so* -type f)
# The whole public API is visible, and nothing else.
nm -DC --defined-only "$libraries/libfiligree.so" > "$work/symbols"
declared=$(awk '/^template/ { template = 1; next }
                { sub(/^\[\[nodiscard\]\] /, "") }
                !template && /^[A-Za-z][A-Za-z0-9_:<>&, ]* [a-z_]+\(/ && !/constexpr|inline/ {
                  sub(/\(.*/, ""); sub(/.* /, ""); print }
                { template = 0 }' "$prefix"/include/filigree/*.h)
for name in $declared; do
  grep -qE "filigree::$name(\[abi:[a-z0-9]+\])?\(| $name\$" "$work/symbols" || { echo "libfiligree.so does not show $name"; exit 1; }
done
if grep -E 'filigree::(AtomicFile|CsrMatrix|Training::|TrainState|parallel_for)' "$work/symbols"; then
  echo "libfiligree.so shows what is not public"
  exit 1
fi

"$program" --version
# What a prediction loads.
unwanted=$(ldd "$program" | grep -oE 'lib(dnnl|OpenCL|gomp|curl|crypto|ssl|nccl|cusparse|graphblas|fftw3)[^ ]*' || true)
[ -z "$unwanted" ] || { echo "the program loads: $unwanted"; exit 1; }
# Plug-ins are found where they were installed.
code=0
"$program" fetch mnist --out "$work/mnist" --mirror http://127.0.0.1:9/ > "$work/log" 2>&1 || code=$?
[ "$code" = 1 ] && grep -q 127.0.0.1 "$work/log" || { cat "$work/log"; echo "downloads are not found"; exit 1; }

if [ -z "${FILIGREE_ALL:-}" ]; then
  echo "add_subdirectory: only in ./test --all"
  exit 0
fi
quietly cmake -S "$source/tests/consumer" -B "$work/part" -G Ninja -DWAY=part -DFILIGREE_SOURCE="$source" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
! grep -q 'CLI/CLI.hpp' "$work/part/build.ninja" || { echo "add_subdirectory builds the program"; exit 1; }
quietly cmake --build "$work/part"
echo "add_subdirectory:"
"$work/part/consumer"
