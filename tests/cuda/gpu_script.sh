#!/bin/sh
# tests/gpu.sh with commands that do nothing in place of a GPU's: every part writes its results, also when it is killed on the way.
#   tests/cuda/gpu_script.sh SOURCE
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
python=$(python3 -c "import sys; print(sys.executable)")
printf '#!/bin/sh\ncase "$1" in *gpu_run*) exec "%s" "$@";; esac\nexit 0\n' "$python" > "$work/bin/python3"
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
# On another day what is done is not done again, but the build, which is not there any more; and on another GPU everything is.
ran() { grep -c '^=== ' "$work/out/gpu.log" || true; }
cp "$work/out/gpu.json" .gpu/gpu.json
: > "$work/out/gpu.log"
tests/gpu.sh 2 > log && has '"failed": \[\]' || fail "part 2: $(cat log)"
[ "$(ran)" = 16 ] || fail "part 2 did not leave out the one step that was done: $(cat "$work/out/gpu.log")"
has '"name": "lin-highest"'
cp "$work/out/gpu.json" .gpu/gpu.json
: > "$work/out/gpu.log"
tests/gpu.sh 2 > log || fail "part 2, again: $(cat log)"
[ "$(ran)" = 2 ] || fail "part 2 was run again: $(cat "$work/out/gpu.log")"
printf '#!/bin/sh\necho "8.0"\n' > "$work/bin/nvidia-smi"
: > "$work/out/gpu.log"
tests/gpu.sh 2 > log || fail "part 2 on another GPU: $(cat log)"
[ "$(ran)" = 17 ] || fail "another GPU's results were kept: $(cat "$work/out/gpu.log")"

# A test that fails does not end its part. A comparison needs the runs of its own machine.
printf '#!/bin/sh\nexit 7\n' > build-gpu/bin/gpu_tests
printf '#!/bin/sh\ncase "$*" in *compare_runs*lin-cpu*) exit 1;; *gpu_run*) exec "%s" "$@";; esac\nexit 0\n' "$python" > "$work/bin/python3"
if tests/gpu.sh 1 > log 2>&1; then fail "tests failed, and the exit status is 0"; fi
has '1: tests' && has '1: compare-lin' && has '"name": "compare-rbf"'
cp "$work/out/gpu.json" .gpu/gpu.json
printf '#!/bin/sh\nexit 0\n' > build-gpu/bin/gpu_tests
printf '#!/bin/sh\ncase "$1" in *gpu_run*) exec "%s" "$@";; esac\nexit 0\n' "$python" > "$work/bin/python3"
: > "$work/out/gpu.log"
tests/gpu.sh 1 > log || fail "part 1, mended: $(cat log)"
for step in configure build tests cpu-lin cuda-lin again-lin compare-lin; do
  grep -q "^=== $step:" "$work/out/gpu.log" || fail "$step was not run again"
done
[ "$(ran)" = 7 ] || fail "part 1 ran more than what had failed: $(cat "$work/out/gpu.log")"

cp "$work/out/gpu.json" .gpu/gpu.json


# Part 3, a sanitizer that finds something, and one that takes too long.
printf '#!/bin/sh\ncase "$*" in *racecheck*) exit 9;; esac\nexit 0\n' > "$work/bin/compute-sanitizer"
if tests/gpu.sh 3 > log 2>&1; then fail "racecheck failed, and the exit status is 0"; fi
has '"3: racecheck"' && has '"name": "memcheck"'
printf '#!/bin/sh\ncase "$*" in *memcheck*) sleep 20;; esac\nexit 0\n' > "$work/bin/compute-sanitizer"
if DEADLINE=2 tests/gpu.sh 3 > log 2>&1; then fail "memcheck was cut off, and the exit status is 0"; fi
has '"3: memcheck"' && has '3: racecheck, left out'
printf '#!/bin/sh\nexit 0\n' > "$work/bin/compute-sanitizer"
tests/gpu.sh 3 > log || fail "part 3: $(cat log)"

# A build that fails ends its part; another commit's parts are not taken over.
echo 4567def > .gpu/commit
printf '#!/bin/sh\necho broken; exit 3\n' > "$work/bin/cmake"
if tests/gpu.sh 3 > log 2>&1; then fail "a failed build, and the exit status is 0"; fi
grep -q broken log && has '3: configure' && has '3: memcheck, left out'
if grep -q compare-lin "$work/out/gpu.json"; then fail "another commit's results are in gpu.json"; fi
printf '#!/bin/sh\necho "-- CUDA: not built (no nvcc)"\n' > "$work/bin/cmake"
if tests/gpu.sh 1 > log 2>&1; then fail "a build without CUDA, and the exit status is 0"; fi
grep -q 'not built' log && has '1: configure' && has '1: tests, left out'

# Programs that were packed are run, and nothing is built.
mv build-gpu/bin .gpu/bin
: > "$work/out/gpu.log"
tests/gpu.sh 3 > log && has '"failed": \[\]' || fail "part 3, packed: $(cat log)"
[ "$(ran)" = 2 ] && grep -q '.gpu/bin/gpu_tests' "$work/out/gpu.log" || fail "packed programs: $(cat "$work/out/gpu.log")"
if tests/gpu.sh 4 > log 2>&1; then fail "part 4 was accepted"; fi

# Parts of docs/results on a GPU: several workers, each run once, the records in one file. One of 45 has an older record.
cp -r "$1/experiments" tree-experiments && rm -f tree-experiments/records/*.csv* && mv tree-experiments experiments
mkdir -p .gpu/data/captions && for name in train val test; do echo a b > ".gpu/data/captions/$name.en"; done
cat > .gpu/bin/lm_train <<'TRAINER'
#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    --run) run=$2 ;;
    --device | --save-every) told="$told $2" ;;
  esac
  shift
done
echo "{}" > "$run/config.json"
for i in 1 2 3 4 5; do echo '{"event":"valid","ppl":30.0}'; done > "$run/log.jsonl"
echo '{"event":"done","test_ppl":30.0}' >> "$run/log.jsonl"
echo "$run$told $NINE_CUDA_MEMORY $CUDA_MPS_PIPE_DIRECTORY" >> "$TOLD"
TRAINER
printf '#!/bin/sh\ncat > /dev/null\nexit 0\n' > "$work/bin/nvidia-cuda-mps-control"
chmod +x .gpu/bin/lm_train "$work/bin/nvidia-cuda-mps-control"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" > "$work/bin/python3"
TOLD=$work/told EVERY=0.5 experiments/gpu/train.sh 60 3 M3 < /dev/null > log || fail "train.sh: $(cat log)"
[ "$(grep -c M3/ log)" = 44 ] || fail "train.sh: $(cat log)"
[ "$(grep -c 'M3/.* cuda 1e 0.07 .*/mps$' "$work/told")" = 44 ] || fail "train.sh ran: $(cat "$work/told")"
