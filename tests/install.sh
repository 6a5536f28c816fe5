#!/bin/sh
# Installs the build into a directory of its own, then builds and runs what lives outside of it: tests/consumer,
# examples, and the program of docs/tour.md, whose output has to be the one printed there.
#   tests/install.sh SOURCE BUILD [GENERATOR [COMPILER]]
set -eu
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
generator=${3:-Ninja}
compiler=${4:-c++}

work=$(mktemp -d "${TMPDIR:-/tmp}/nine-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Prints what a command said only if it fails.
quietly() {
  if ! "$@" > "$work/log" 2>&1; then
    cat "$work/log"
    echo "failed: $*"
    exit 1
  fi
}

# build_outside NAME DIRECTORY: a project that uses the installed copy only.
build_outside() {
  quietly cmake -S "$2" -B "$work/$1" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/nine" -DCMAKE_BUILD_TYPE= \
    -DCMAKE_CXX_FLAGS="-O1 -Wall -Wextra"
  quietly cmake --build "$work/$1" -j 2
}

run() {
  echo "--- $*"
  "$@"
}

quietly cmake --install "$build" --prefix "$work/nine"
for program in lm_train lm_score; do quietly "$work/nine/bin/$program" --help; done

cd "$work"  # what programs write is removed with it
build_outside consumer "$source/tests/consumer"
run "$work/consumer/consumer"

build_outside examples "$source/examples"
run "$work/examples/xor"
run "$work/examples/custom_op"
run "$work/examples/char_lm" --updates 100 --generate 60

# The tour: its C++ blocks in order are one program, its text blocks in order what that program prints.
mkdir "$work/tour-source"
awk -f "$source/tests/tour/extract.awk" -v want=cpp "$source/docs/tour.md" > "$work/tour-source/tour.cpp"
awk -f "$source/tests/tour/extract.awk" -v want=text "$source/docs/tour.md" > "$work/expected"
(cd "$work/nine/include/nine" && find . -name '*.h' | sort | sed 's|^\./\(.*\)|#include "\1"|') > "$work/tour-source/headers.cpp"
cp "$source/tests/tour/CMakeLists.txt" "$work/tour-source/"
build_outside tour "$work/tour-source"
"$work/tour/tour" > "$work/printed"
if ! diff -u "$work/expected" "$work/printed"; then
  echo "docs/tour.md (-) and what its program prints (+) differ"
  exit 1
fi
echo "--- docs/tour.md: $(wc -l < "$work/expected") lines of output as printed there"
