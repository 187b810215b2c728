#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries filigree in a minimal Debian root, where nothing is installed that it does not install itself:
# scripts/clean_room.sh [run|test|pip|wheel] [--user]. --user: as an ordinary user with sudo, not as root.
#   run, test  ./run or ./test of the last commit
#   pip        pip install ".[sklearn]" of the last commit; trains
#   wheel      the wheels of scripts/wheel.sh, each in a Debian whose Python it is for, without a compiler; trains
# Roots (Debian of this machine's release, git, ca-certificates; for wheels Python) are made once and kept in a
# temporary directory.
set -euo pipefail
cd "$(dirname "$0")/.."
what=run
as_user=0
for word in "$@"; do
  case "$word" in
    run | test | pip | wheel) what=$word ;;
    --user) as_user=1 ;;
    *) echo "usage: scripts/clean_room.sh [run|test|pip|wheel] [--user]" >&2; exit 2 ;;
  esac
done
[ "$(id -u)" -eq 0 ] || { echo "filigree: the clean room needs root, to make a Debian root and to enter it" >&2; exit 1; }
scripts/packages.sh room
mirror=$(apt-cache policy base-files | awk '$2 ~ /^https?:/ { print $2; exit }')  # where this machine gets its own
cache=${TMPDIR:-/tmp}/filigree-clean-room
mkdir -p "$cache"
room=
trap '[ -z "$room" ] || rm -rf --one-file-system "$room"' EXIT

# make_room RELEASE PACKAGES: a new root in $room.
make_room() {
  local base=$cache/$1-${2//,/-}.tar
  if [ ! -f "$base" ]; then
    echo "filigree: making a minimal Debian root ($1, $2)" >&2
    rm -rf "$cache/base"
    debootstrap --variant=minbase --include="$2" "$1" "$cache/base" ${mirror:+"$mirror"} \
      > "$cache/debootstrap.log" 2>&1 || { tail -n 20 "$cache/debootstrap.log" >&2; exit 1; }
    tar -C "$cache/base" -cf "$base.part" . && mv "$base.part" "$base"
    rm -rf "$cache/base"
  fi
  [ -z "$room" ] || rm -rf --one-file-system "$room"
  room=$(mktemp -d "$cache/room.XXXXXX")
  tar -C "$room" -xf "$base"
  cp /etc/resolv.conf "$room/etc/resolv.conf"
}

# enter COMMAND: in $room, with a mount namespace of its own: /proc and the terminals go with it, whatever happens.
enter() {
  local settings=()  # Python packages come from where this machine gets them, as Debian's do
  [ -z "${PIP_INDEX_URL:-}" ] || settings+=("PIP_INDEX_URL=$PIP_INDEX_URL")
  if [ -f "${PIP_CERT:-}" ]; then
    cp "$PIP_CERT" "$room/etc/pip-certificates.crt"
    settings+=("PIP_CERT=/etc/pip-certificates.crt")
  fi
  [ -z "${CMAKE_BUILD_PARALLEL_LEVEL:-}" ] || settings+=("CMAKE_BUILD_PARALLEL_LEVEL=$CMAKE_BUILD_PARALLEL_LEVEL")
  unshare --mount --propagation private env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb "${settings[@]}" \
    bash -c "mount -t proc proc '$room/proc' && mkdir -p '$room/dev/pts' &&
             mount -t devpts -o newinstance,ptmxmode=0666 devpts '$room/dev/pts' && ln -sf pts/ptmx '$room/dev/ptmx' && exec chroot '$room' bash -c \"\$1\"" clean-room "set -euo pipefail
    $1"
}

started=$SECONDS
if [ "$what" = wheel ]; then
  for kind in cp311 cp312-abi3; do
    wheel=$(ls -t build/wheels/filigree_nn-*-"$kind"-*.whl 2> /dev/null | head -n 1 || true)
    if [ -z "$wheel" ] || [ -n "$(find include src cmake python/*.* python/filigree_nn pyproject.toml CMakeLists.txt -newer "$wheel" -type f)" ]; then
      scripts/wheel.sh "${kind#cp312-}"
    fi
  done
  for wheel in build/wheels/*.whl; do
    release=bookworm  # with Python 3.11
    [[ "$wheel" != *-abi3-* ]] || release=trixie  # with Python 3.13
    make_room "$release" ca-certificates,python3,python3-venv
    mkdir "$room/trial"
    cp "$wheel" tests/python_trial.py "$room/trial"
    echo "filigree: ${wheel##*/} in a clean room ($release)" >&2
    enter "cd /trial
      if command -v cc gcc g++ clang cmake || ldconfig -p | grep -E 'lib(fmt|hwy|dnnl|filigree)'; then
        echo 'filigree: this is not to be in the room' >&2
        exit 1
      fi
      python3 -m venv venv
      venv/bin/pip install --disable-pip-version-check './${wheel##*/}[sklearn]'
      venv/bin/python python_trial.py --wheel --sklearn"
  done
  echo "filigree: the wheels work in clean rooms; it took $((SECONDS - started)) s" >&2
  exit 0
fi

case "$what" in
  run) command="./run" ;;
  test) command="./test" ;;
  pip) command="scripts/packages.sh build python && python3 -m venv /tmp/filigree-env && . /tmp/filigree-env/bin/activate &&
    time pip install \".[sklearn]\" && cd / && python filigree/tests/python_trial.py --sklearn" ;;
esac
make_room "$(. /etc/os-release && echo "${VERSION_CODENAME:?}")" git,ca-certificates
git clone --quiet --no-hardlinks . "$room/filigree"
user=root
prepare=true
if [ "$as_user" = 1 ]; then
  user=visitor
  prepare="apt-get update -qq > /dev/null && apt-get install -y -qq --no-install-recommends sudo > /dev/null 2>&1 &&
           useradd --create-home visitor && echo 'visitor ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/visitor &&
           chown -R visitor: /filigree"
fi
echo "filigree: $what in a clean room, as $user" >&2
enter "$prepare
  cd /filigree
  runuser -u $user -- bash -c '$command' < /dev/null
  [ $what = run ] || exit 0
  begun=\$(date +%s%N)
  runuser -u $user -- ./run --version < /dev/null
  took=\$(((\$(date +%s%N) - begun) / 1000000))
  echo \"filigree: the second start took \$took ms\" >&2
  [ \$took -lt 300 ] || { echo 'filigree: a second start takes 300 ms at most' >&2; exit 1; }"
echo "filigree: $what works in a clean room; it took $((SECONDS - started)) s" >&2
