#!/bin/sh
# Installs the build into a directory of its own, then builds and runs what lives outside of it: tests/install/consumer,
# examples, and the program of docs/tour.md, whose output has to be the one printed there.
#   tests/install/install.sh SOURCE BUILD [GENERATOR [COMPILER]]
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
for program in "$work"/nine/bin/*; do
  if readelf -S "$program" | grep -qF .symtab; then
    echo "$program is not stripped"
    exit 1
  fi
done

cd "$work"  # what programs write is removed with it
export OMP_NUM_THREADS=1  # two threads of such small models mostly wait for each other, beside another test all the more
if grep -rl fopenmp "$work/nine/lib/cmake" "$work/nine/include"; then
  echo "these files of the installed copy would compile its users' sources with OpenMP"
  exit 1
fi
# What nn/nine.h says to start with is among what is installed.
for header in $(sed -n '/^\/\/ Start here/,/^$/s/^#include "\(.*\)".*/\1/p' "$work/nine/include/nine/nn/nine.h"); do
  if [ ! -s "$work/nine/include/nine/$header" ]; then
    echo "nn/nine.h says to start with $header, which is not installed"
    exit 1
  fi
done
build_outside consumer "$source/tests/install/consumer"
run "$work/consumer/consumer"

# The models that docs/tour.md opens, trained by the installed programs with the commands of that page.
grep -E '^    (lm|mt)_train --sample ' "$source/docs/tour.md" | sed "s|^ *|$work/nine/bin/|" > "$work/train.sh"
quietly sh -e "$work/train.sh"

# same WHAT PROGRAM ARGUMENTS -- CONSUMER-ARGUMENTS: the program and the consumer print the same.
same() {
  what=$1
  program=$2
  shift 2
  ours=
  while [ "$1" != -- ]; do
    ours="$ours $1"
    shift
  done
  shift
  # shellcheck disable=SC2086
  "$work/nine/bin/$program" $ours > "$work/ours" 2> "$work/log" || { cat "$work/log"; exit 1; }
  "$work/consumer/consumer" "$@" > "$work/theirs"
  if ! cmp "$work/ours" "$work/theirs"; then
    diff "$work/ours" "$work/theirs" | head -6
    echo "$what: $program and the consumer print different things"
    exit 1
  fi
  echo "--- $what: $(wc -l < "$work/theirs") lines as $program prints them"
}
printf 'the old man saw a dog .\n\na xyzzy is eating an apple .\n' > text
printf 'der alte mann schläft .\n\ngestern hat die kluge tante dem kind einen neuen gartentisch gezeigt .\n' > german
printf 'the old man is sleeping .\nxyzzy\nyesterday the clever aunt .\n' > english
same scores lm_score --checkpoint lm --input text -- score lm text
same "scores of tokens" lm_score --checkpoint lm --input text --tokens -- tokens lm text
same "likeliest words" lm_score --checkpoint lm --input text --top 4 -- top lm text 4
same continuations lm_score --checkpoint lm --input text --generate --seed 5 -- generate lm text
same translations mt_translate --checkpoint mt --input german -- translate mt german
same "scores of translations" mt_translate --checkpoint mt --input german --score-given english -- score-given mt german english
same "scores from the checkpoint itself" lm_score --checkpoint lm/checkpoints/best --input text -- score lm/checkpoints/best text

build_outside examples "$source/examples"
run env OMP_NUM_THREADS=2 "$work/examples/xor"
run "$work/examples/custom_op"
run "$work/examples/char_lm" --updates 100 --generate 60
run "$work/examples/digits"
run "$work/examples/char_gru"
run "$work/examples/vae"

# The tour: its C++ blocks in order are one program, its text blocks in order what that program prints.
mkdir "$work/tour-source"
awk -f "$source/tests/install/tour/extract.awk" -v want=cpp "$source/docs/tour.md" > "$work/tour-source/tour.cpp"
awk -f "$source/tests/install/tour/extract.awk" -v want=text "$source/docs/tour.md" > "$work/expected"
(cd "$work/nine/include/nine" && find . -name '*.h' | sort | sed 's|^\./\(.*\)|#include "\1"|') > "$work/tour-source/headers.cpp"
cp "$source/tests/install/tour/CMakeLists.txt" "$work/tour-source/"
build_outside tour "$work/tour-source"
"$work/tour/tour" > "$work/printed"
if ! diff -u "$work/expected" "$work/printed"; then
  echo "docs/tour.md (-) and what its program prints (+) differ"
  exit 1
fi
echo "--- docs/tour.md: $(wc -l < "$work/expected") lines of output as printed there"
