#!/bin/sh
# Installs the Debian packages that Nine needs and this machine lacks. Nothing to do is the usual case, and quick.
#   cmake/install_deps.sh [check] [clients] [clang] [tidy] [format] [package] [site]
# Always: what every build needs, and `make test`. check: what `make check` runs beside the programs; clients: what makes an environment of
# Python; clang: what the fuzzers need; tidy: clang-tidy; format: clang-format, and black for Python; package: what makes packages; site: what
# makes the site
set -eu
packages="g++ cmake ninja-build libeigen3-dev libxsmm-dev nlohmann-json3-dev libcli11-dev libboost-math-dev zlib1g-dev libzstd-dev libpcre2-dev libcpp-httplib-dev libutf8proc-dev libopenmpi-dev openmpi-bin doctest-dev python3"
for more in "$@"; do
  case $more in
    check) packages="$packages valgrind sctk chromium fontconfig fonts-noto-core fonts-dejavu-core" ;;  # a CPU without AVX-512, on any machine; NIST's sclite and sc_stats; a browser, and text in two fonts
    clients) packages="$packages python3-venv python3-dev" ;;  # Python's headers, for the package
    clang) packages="$packages clang libclang-rt-dev libomp-dev" ;;  # libFuzzer and the sanitizers; OpenMP
    tidy) packages="$packages clang-tidy" ;;
    format) packages="$packages clang-format black" ;;
    site) packages="$packages python3-venv doxygen fonts-roboto-unhinted fonts-jetbrains-mono libjs-katex" ;;  # its pages' fonts and formulas
    package) packages="$packages dpkg-dev file help2man" ;;  # dpkg-shlibdeps, which calls file; manual pages
    *) echo "$0: nothing is known about '$more'; check, clients, clang, tidy, format, package and site are" >&2 && exit 2 ;;
  esac
done

missing=""
for package in $packages; do
  if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
    missing="$missing $package"
  fi
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "missing:$missing; install them with this system's package manager" >&2
  exit 1
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null 2>&1 || { echo "missing:$missing; run as root: apt-get install$missing" >&2; exit 1; }
  sudo=sudo
fi
echo "installing$missing"
$sudo apt-get update -q
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
