#!/bin/sh
# Holds what cmake/instruction_sets.cmake promises of a build.
#   tests/core/instruction_sets.sh BUILD
# 1. An object of a newer instruction set shares no symbol with the rest but the functions that fill its tables: a weak symbol (an inline
#    function or template) could take the place of the rest's, and the program would end with SIGILL on an older CPU. It runs nothing at start.
# 2. The rest has no AVX-512 instructions.
# 3. A program runs on a CPU with AVX2 and without AVX-512: valgrind's.
set -eu
build=$(cd "$1" && pwd)

work=$(mktemp -d "${TMPDIR:-/tmp}/nine-isa.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() {
  echo "$*"
  exit 1
}

objects=$(find "$build" -maxdepth 1 -name 'nine_*_avx512.o' -o -maxdepth 1 -name 'nine_pairs_avx512_bf16.o' -o -maxdepth 1 -name 'nine_*_amx.o')
[ "$(echo "$objects" | wc -w)" = 5 ] || fail "expected the objects of core/cpu, of pairs, of tiles, the head's ops and its kernels in $build, found: $objects"
for object in $objects; do
  nm -C --defined-only --extern-only "$object" > "$work/symbols"
  [ -s "$work/symbols" ] || fail "$object defines nothing"
  isa=$(basename "$object" .o | sed "s/.*_\(avx512.*\|amx\)$/\1/")
  if grep -v " T nine::cpu::$isa::install(" "$work/symbols"; then
    fail "$object: the symbols above can be seen by the rest of the program"
  fi
  if objdump -h "$object" | grep -E '[.](init_array|ctors|preinit_array)'; then
    fail "$object runs code when a program starts"
  fi
  objdump -d "$object" > "$work/code"
  grep -q '%zmm' "$work/code" || fail "$object has no AVX-512 code"
  case $isa in
    amx) product=tdpbf16ps ;;
    avx512_bf16) product=vdpbf16ps ;;
    *) product=vfmadd ;;
  esac
  grep -q $product "$work/code" || fail "$object has no $product"
done

for library in core autograd kernels data nn; do
  mkdir "$work/$library"
  (cd "$work/$library" && ar x "$build/libnine_$library.a" && rm -f nine_*_avx512.o nine_*_avx512_bf16.o nine_*_amx.o)
  for object in "$work/$library"/*.o; do
    objdump -d "$object" > "$work/code"
    if grep -m 3 -E '%zmm|%tmm|%k[1-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])' "$work/code"; then
      fail "$library: $(basename "$object") has AVX-512 code (above)"
    fi
  done
done

command -v valgrind > /dev/null || { echo "valgrind is not installed: make check installs it" && exit 1; }
i=0
while [ $i -lt 40 ]; do
  echo "the dog sees a cat and $i birds"
  i=$((i + 1))
done > "$work/text"
train() {
  valgrind --tool=none -q "$build/bin/lm_train" --train "$work/text" --valid "$work/text" --layers 1 --hidden 16 --embed 16 \
    --head mix2 --batch 2 --threads 2 --after 5u --run "$work/run" "$@" > "$work/log" 2>&1
}
train || { cat "$work/log" && fail "lm_train on a CPU with AVX2 alone failed"; }
grep -q '"instruction_set": "avx2"' "$work/run/config.json" || fail "config.json does not say avx2"
if NINE_ISA=avx512 train --restart; then fail "NINE_ISA=avx512 was accepted by a CPU without it"; fi
grep -q 'NINE_ISA=avx512: this CPU has no avx512' "$work/log" || { cat "$work/log" && fail "not the error of NINE_ISA"; }
