#!/usr/bin/env bash
# Tries what `make package` made on a bare Debian 12: a debootstrap in a temporary folder, which is removed in the end. Run by hand, as
# root, with debootstrap installed and Debian's mirror in reach; takes some minutes.
#   tests/install/package.sh [FOLDER]      FOLDER (default build-package) has one nine_*.deb and one nine-*.tar.gz
# MIRROR: another mirror. ISAS="avx2 avx512": train under NINE_ISA=avx2 and NINE_ISA=avx512.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(cd "${1:-$source/build-package}" && pwd)
deb=$(ls "$folder"/nine_*.deb)
tarball=$(ls "$folder"/nine-*.tar.gz)
mirror=${MIRROR:-http://deb.debian.org/debian}
[ "$(id -u)" = 0 ] || { echo "$0: chroot needs root"; exit 1; }
command -v debootstrap > /dev/null || { echo "$0: debootstrap is missing: apt-get install debootstrap"; exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/nine-package.XXXXXX")
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
  echo "failed: $*"
  exit 1
}

# Prints what a command said only if it fails.
quietly() {
  "$@" > "$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }
}

# A command in the chroot. /proc is mounted in a namespace of its own, so that it is gone with the command.
inside() {
  unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' "$root" "$@"
}

apt() { quietly inside apt-get -y -q --no-install-recommends "$@"; }

# Every file of the system but logs and what apt and dpkg keep about packages.
files() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/apt \
    -o -path ./var/lib/dpkg \) -prune -o -print | sort)
}

# Trains with what stands in a folder of programs. $1: the folder; $2: NINE_ISA, or nothing.
trains() {
  local small="--layers 1 --hidden 16 --restart --after 20u"
  # shellcheck disable=SC2086
  quietly inside env ${2:+NINE_ISA=$2} "$1/lm_train" --sample --sample-sentences 200 --embed 16 $small --run /tmp/lm
  # shellcheck disable=SC2086
  quietly inside env ${2:+NINE_ISA=$2} "$1/mt_train" --sample --sample-pairs 200 --heads 2 --ffn 16 $small --run /tmp/mt
  [ -s "$root/tmp/lm/checkpoints/best/model.safetensors" ] || fail "lm_train left no model"
  [ -s "$root/tmp/mt/checkpoints/best/model.safetensors" ] || fail "mt_train left no model"
  echo "--- $1${2:+, NINE_ISA=$2}: lm_train --sample and mt_train --sample train"
}

# A program of tests/install/consumer. $1: more flags of cmake.
consumes() {
  rm -rf "$root/tmp/consumer"
  cp -r "$source/tests/install/consumer" "$root/tmp/consumer"
  quietly inside cmake -S /tmp/consumer -B /tmp/consumer/build "$@"
  quietly inside cmake --build /tmp/consumer/build
  quietly inside /tmp/consumer/build/consumer
  echo "--- find_package(Nine) $*: consumer builds and runs"
}

# Before the chroot: nothing in the packages may lead back to the folder that they were built in.
dpkg-deb -x "$deb" "$work/deb"
mkdir "$work/tar"
programs=$(ls "$work/deb/usr/bin")
tar -xf "$tarball" -C "$work/tar" --strip-components 1
if grep -rlF -e "$source" -e "$folder" "$work/deb" "$work/tar"; then fail "these files name the folder of the build"; fi
for program in "$work"/deb/usr/bin/*; do
  ! readelf -d "$program" | grep -E 'RPATH|RUNPATH' || fail "$program has a path to libraries"
  ! readelf -S "$program" | grep -qF .symtab || fail "$program is not stripped"
done
dpkg-deb -f "$deb" Package Version Architecture Depends Suggests

# In a namespace of its own too: debootstrap mounts /proc, and leaves it mounted when it is interrupted.
quietly unshare --mount debootstrap --variant=minbase bookworm "$root" "$mirror"
cp "$deb" "$root/tmp"
echo "--- $(inside dpkg-query -f '.\n' -W | wc -l) packages of a bare Debian"
files > "$work/before"
apt install "/tmp/$(basename "$deb")"
trains /usr/bin
for isa in ${ISAS:-}; do trains /usr/bin "$isa"; done
for page in $programs bpe-learn bpe-apply bpe-undo bpe-vocab bpe-convert; do [ -s "$root/usr/share/man/man1/$page.1.gz" ] || fail "$page has no manual page"; done
mkdir -p "$root/tmp/nine/tests"
cp "$source/tests/install/package_files.sh" "$root/tmp/nine/tests"
# shellcheck disable=SC2086
quietly inside /tmp/nine/tests/package_files.sh /tmp/nine /usr/bin $programs
for program in $programs; do
  inside "$program" --completion bash | cmp - "$root/usr/share/bash-completion/completions/$program" ||
    fail "$program's completion is not what it prints"
done
echo "--- manual pages and completions are there"
apt purge --auto-remove nine
files > "$work/after"
diff "$work/before" "$work/after" || fail "apt purge left files, or took some"
echo "--- apt purge --auto-remove nine leaves the $(wc -l < "$work/before") files from before"

apt install "/tmp/$(basename "$deb")" g++ cmake make zlib1g-dev libzstd-dev libpcre2-dev
cp -r "$source/tests/install/consumer" "$root/tmp/consumer"
! inside cmake -S /tmp/consumer -B /tmp/consumer/build > "$work/log" 2>&1 || fail "libxsmm is not missed"
tr -s '\n ' ' ' < "$work/log" | grep -qF "install libxsmm-dev" || { cat "$work/log"; fail "nothing says that libxsmm-dev is missing"; }
apt install libxsmm-dev
consumes
inside dpkg -L nine > "$work/list"
apt purge nine
while read -r path; do
  if [ -e "$root$path" ] && [ ! -d "$root$path" ]; then fail "apt purge left $path"; fi
done < "$work/list"

mkdir "$root/opt/elsewhere"
cp -r "$work/tar" "$root/opt/elsewhere/nine"
trains /opt/elsewhere/nine/bin
consumes -DCMAKE_PREFIX_PATH=/opt/elsewhere/nine
echo "the package and the tarball are sound"
