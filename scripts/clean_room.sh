#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs ./run or ./test of the last commit in a minimal Debian root, where nothing is installed that they do not install
# themselves: scripts/clean_room.sh [run|test] [--user]. --user: as an ordinary user with sudo, not as root.
# The root (Debian of this machine's release, git, ca-certificates) is made once and kept in a temporary directory.
set -euo pipefail
cd "$(dirname "$0")/.."
what=run
as_user=0
for word in "$@"; do
  case "$word" in
    run | test) what=$word ;;
    --user) as_user=1 ;;
    *) echo "usage: scripts/clean_room.sh [run|test] [--user]" >&2; exit 2 ;;
  esac
done
[ "$(id -u)" -eq 0 ] || { echo "filigree: the clean room needs root, to make a Debian root and to enter it" >&2; exit 1; }
scripts/packages.sh room

release=$(. /etc/os-release && echo "${VERSION_CODENAME:?}")
mirror=$(apt-cache policy base-files | awk '$2 ~ /^https?:/ { print $2; exit }')  # where this machine gets its own
cache=${TMPDIR:-/tmp}/filigree-clean-room
base=$cache/$release.tar
mkdir -p "$cache"
if [ ! -f "$base" ]; then
  echo "filigree: making a minimal Debian root ($release)" >&2
  rm -rf "$cache/base"
  debootstrap --variant=minbase --include=git,ca-certificates "$release" "$cache/base" ${mirror:+"$mirror"} \
    > "$cache/debootstrap.log" 2>&1 || { tail -n 20 "$cache/debootstrap.log" >&2; exit 1; }
  tar -C "$cache/base" -cf "$base.part" . && mv "$base.part" "$base"
  rm -rf "$cache/base"
fi

room=$(mktemp -d "$cache/room.XXXXXX")
trap 'rm -rf --one-file-system "$room"' EXIT
tar -C "$room" -xf "$base"
cp /etc/resolv.conf "$room/etc/resolv.conf"
pip=()  # and Python packages come from where this machine gets them, as Debian's do
[ -z "${PIP_INDEX_URL:-}" ] || pip+=("PIP_INDEX_URL=$PIP_INDEX_URL")
if [ -f "${PIP_CERT:-}" ]; then
  cp "$PIP_CERT" "$room/etc/pip-certificates.crt"
  pip+=("PIP_CERT=/etc/pip-certificates.crt")
fi
git clone --quiet --no-hardlinks . "$room/filigree"
if [ "$what" = run ]; then command="./run"; else command="./test"; fi
user=root
prepare=true
if [ "$as_user" = 1 ]; then
  user=visitor
  prepare="apt-get update -qq > /dev/null && apt-get install -y -qq --no-install-recommends sudo > /dev/null 2>&1 &&
           useradd --create-home visitor && echo 'visitor ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/visitor &&
           chown -R visitor: /filigree"
fi
echo "filigree: $command in a clean room, as $user" >&2
started=$SECONDS
# A mount namespace of its own: /proc and the terminals go with it, whatever happens.
unshare --mount --propagation private env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb "${pip[@]}" \
  bash -c "mount -t proc proc '$room/proc' && mkdir -p '$room/dev/pts' &&
           mount -t devpts -o newinstance,ptmxmode=0666 devpts '$room/dev/pts' && ln -sf pts/ptmx '$room/dev/ptmx' && exec chroot '$room' bash -c \"\$1\"" clean-room "
    set -euo pipefail
    $prepare
    cd /filigree
    runuser -u $user -- bash -c '$command < /dev/null'
    [ $what = run ] || exit 0
    begun=\$(date +%s%N)
    runuser -u $user -- ./run --version < /dev/null
    took=\$(((\$(date +%s%N) - begun) / 1000000))
    echo \"filigree: the second start took \$took ms\" >&2
    [ \$took -lt 300 ] || { echo 'filigree: a second start takes 300 ms at most' >&2; exit 1; }"
echo "filigree: $command works in a clean room; it took $((SECONDS - started)) s" >&2
