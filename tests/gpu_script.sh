#!/bin/sh
# tests/gpu.sh with commands that do nothing in place of a GPU's: every part writes its results, also when it is killed on the way.
#   tests/gpu_script.sh SOURCE
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/nine-gpu.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() {
  echo "$*"
  exit 1
}
mkdir -p "$work/bin" "$work/tree/tests" "$work/tree/build-gpu/bin" "$work/tree/.gpu"
cp "$1/tests/gpu.sh" "$work/tree/tests/"
cp -r "$1/tests/cuda" "$work/tree/tests/cuda"
echo 0123abc > "$work/tree/.gpu/commit"
cd "$work/tree"
for name in cmake compute-sanitizer nvcc; do printf '#!/bin/sh\nexit 0\n' > "$work/bin/$name"; done
printf '#!/bin/sh\necho "9.0"\n' > "$work/bin/nvidia-smi"
for name in gpu_tests lm_train; do printf '#!/bin/sh\nexit 0\n' > "build-gpu/bin/$name"; done
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "{\\"s_per_step\\": 1}"\nsleep "${SLOW:-0}"\n' > build-gpu/bin/bench_lm
printf '#!/bin/sh\ncase "$1" in *gpu_run*) exec "%s" "$@";; esac\nexit 0\n' "$(python3 -c "import sys; print(sys.executable)")" > "$work/bin/python3"
chmod +x "$work"/bin/* build-gpu/bin/*
PATH=$work/bin:$PATH
export PATH OUT="$work/out"
has() { grep -q -e "$1" "$work/out/gpu.json" || fail "gpu.json lacks $1: $(cat "$work/out/gpu.json")"; }

tests/gpu.sh 1 > log || fail "part 1: $(cat log)"
has '"commit": "0123abc"' && has '"name": "compare-lin"' && has '"failed": \[\]'

# What part 1 found is carried along, and part 2 joins it. Cut off on the way, it leaves what it has.
cp "$work/out/gpu.json" .gpu/gpu.json
if SLOW=2 timeout 5 tests/gpu.sh 2 > log 2>&1; then fail "a part that was killed ended well"; fi
has '"name": "compare-lin"' && has '"name": "lin-highest"' && has '"s_per_step": 1' && has '2: torch-lin-fp32, left out'
# With a deadline of its own it ends by itself.
if SLOW=2 DEADLINE=3 tests/gpu.sh 2 > log 2>&1; then fail "steps were left out, and the exit status is 0"; fi
grep -q 'cut off' log && has 'left out'
tests/gpu.sh 2 > log && has '"failed": \[\]' || fail "part 2: $(cat log)"

# A build that fails ends its part; another commit's parts are not taken over.
echo 4567def > .gpu/commit
printf '#!/bin/sh\necho broken; exit 3\n' > "$work/bin/cmake"
if tests/gpu.sh 3 > log 2>&1; then fail "a failed build, and the exit status is 0"; fi
grep -q broken log && has '3: configure' && has '3: memcheck, left out'
if grep -q compare-lin "$work/out/gpu.json"; then fail "another commit's results are in gpu.json"; fi
printf '#!/bin/sh\necho "-- CUDA: not built (no nvcc)"\n' > "$work/bin/cmake"
if tests/gpu.sh 1 > log 2>&1; then fail "a build without CUDA, and the exit status is 0"; fi
grep -q 'not built' log && has '1: configure' && has '1: tests, left out'
if tests/gpu.sh 4 > log 2>&1; then fail "part 4 was accepted"; fi
