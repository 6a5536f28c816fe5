#!/usr/bin/env bash
# Everything that is to be seen on a GPU, in two steps (docs/cuda.md):
#   tests/gpu.sh pack        here: gathers in .gpu/, which git ignores, what a bare machine lacks: the headers of Eigen and others,
#                            and texts ($DATA/captions)
#   tests/gpu.sh [PART...]   there, with .gpu/ carried along: builds for its GPU, runs the parts, writes OUT/gpu.json, which is kept as
#                            experiments/gpu/YYYY-MM-DD.json (experiments/gpu/README.md)
# Parts: build tests memcheck racecheck steps bench; all of them by default. OUT is where results go (default build-gpu/out); SECONDS_EACH
# limits a command (default 540). PyTorch's side of bench is experiments/baselines/torch_lm.py.
set -uo pipefail
[ -z "${DATA:-}" ] || DATA=$(realpath -m "$DATA")
cd "$(dirname "$0")/.."

if [ "${1:-}" = pack ]; then
  set -e
  data=${DATA:?set DATA to the folder of the corpora (experiments/README.md)}
  mkdir -p .gpu/data .gpu/root
  for package in libeigen3-dev nlohmann-json3-dev libcli11-dev doctest-dev; do
    dpkg -L "$package" | while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done
  done | grep -v -e /doc/ -e unsupported | tar -cf - -T - 2>/dev/null | tar -xf - -C .gpu/root
  head -n 20000 "$data"/captions/train.en > .gpu/data/train.en
  cp "$data"/captions/val.en .gpu/data/valid.en
  git rev-parse HEAD > .gpu/commit
  du -sh .gpu
  exit 0
fi

out=${OUT:-build-gpu/out} limit=${SECONDS_EACH:-540} build=build-gpu
parts=${*:-build tests memcheck racecheck steps bench}
mkdir -p "$out" "$build"
export NINE_GPU_TESTS=1  # without a GPU that CUDA can use, tests fail instead of being skipped
log=$out/gpu.log results=$build/results.tsv
touch "$results"
wants() { case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
# step NAME COMMAND...: runs it, says how it ended, keeps its output in the log.
step() {
  local name=$1 begin end code
  shift
  begin=$(date +%s)
  echo "=== $name: $*" >> "$log"
  timeout "$limit" "$@" >> "$log" 2>&1
  code=$?
  end=$(date +%s)
  printf '%s\t%s\t%s\n' "$name" "$code" "$((end - begin))" >> "$results"
  echo "$name: exit $code, $((end - begin)) s"
  [ "$code" -eq 0 ] || tail -n 25 "$log"
  return "$code"
}

if wants build; then
  : > "$results"
  prefix=$PWD/.gpu/root/usr
  arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
  step configure cmake -S . -B "$build" -G Ninja -DNINE_CUDA_ARCHS="${arch:-90}" -DNINE_XSMM=OFF -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_FLAGS="-I$prefix/include"
  step build cmake --build "$build" -j "$(nproc)" --target gpu_tests lm_train bench_lm || parts=""  # the summary says so
fi

if wants tests; then
  step tests "$build/bin/gpu_tests"
fi

# sanitized TOOL: every kernel once, cuBLAS's with what we give it too; random shapes and repeated runs say nothing new here and take long.
sanitized() {
  step "$1" compute-sanitizer --tool "$1" --error-exitcode 9 "$build/bin/gpu_tests" \
    "--test-case=*float32,*plain ops*,cuda head: every kernel*,cuda head: mixtures*,cuda head: smoothed*,cuda head: products*"
}
if wants memcheck; then sanitized memcheck; fi
if wants racecheck; then sanitized racecheck; fi

if wants steps; then
  small="--train .gpu/data/train.en --valid .gpu/data/valid.en --vocab-size 5000 --hidden 128 --embed 128 --batch 16 --after 100u --valid-every 100u --log-every 1 --save-every 0u --seed 3"
  for head in lin rbf mix:2*lin,ssg; do
    name=${head//[^a-z0-9]/-}
    rm -rf "$build"/run-"$name"-*
    # shellcheck disable=SC2086
    {
      step "cpu-$name" "$build/bin/lm_train" $small --head "$head" --run "$build/run-$name-cpu"
      step "cuda-$name" "$build/bin/lm_train" $small --head "$head" --device cuda --run "$build/run-$name-a"
      step "again-$name" "$build/bin/lm_train" $small --head "$head" --device cuda --run "$build/run-$name-b"
    }
    step "compare-$name" python3 tests/cuda/compare_runs.py "$build/run-$name-cpu" "$build/run-$name-a" "$build/run-$name-b"
  done
fi

if wants bench; then
  rm -f "$build"/bench.jsonl
  bench() {
    local name=$1
    shift
    step "$name" bash -o pipefail -c '"$@" | tee -a '"$build"'/bench.jsonl' bash "$@"
  }
  for precision in highest high medium; do
    bench "lm-$precision" "$build/bin/bench_lm" --device cuda --matmul-precision "$precision" --batch 64 --bptt 70 --steps 20
    bench "mos9-$precision" "$build/bin/bench_lm" --device cuda --matmul-precision "$precision" --batch 64 --bptt 70 --steps 20 --head mos --components 9
  done
  for head in "lin" "mos --components 9"; do
    # shellcheck disable=SC2086
    bench "torch-${head%% *}-fp32" python3 experiments/baselines/torch_lm.py --device cuda --batch 64 --bptt 70 --steps 20 --head $head
  done
  for extra in "--precision tf32" "--precision bf16" "--precision bf16 --compile"; do
    for head in "lin" "mos --components 9"; do
      name=${extra#--precision } name=${name// --/-}
      # shellcheck disable=SC2086
      bench "torch-${head%% *}-$name" python3 experiments/baselines/torch_lm.py --device cuda --batch 64 --bptt 70 --steps 20 --head $head $extra
    done
  done
fi

python3 - "$results" "$build/bench.jsonl" "$out/gpu.json" "$build" <<'PYTHON'
import json, os, re, subprocess, sys
results, bench, out, build = sys.argv[1:]
def text(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""
steps = [dict(zip(("name", "exit", "seconds"), line.rstrip("\n").split("\t"))) for line in open(results)]
for s in steps:
    s["exit"], s["seconds"] = int(s["exit"]), int(s["seconds"])
summary = {
    "commit": text("git", "rev-parse", "HEAD") or (open(".gpu/commit").read().strip() if os.path.exists(".gpu/commit") else ""),
    "gpu": text("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"),
    "nvcc": (re.findall(r"release [0-9.]+, V[0-9.]+", text("nvcc", "--version")) or [""])[0],
    "passed": sum(s["exit"] == 0 for s in steps),
    "failed": [s["name"] for s in steps if s["exit"] != 0],
    "steps": steps,
    "compared": [json.load(open(os.path.join(build, f))) for f in sorted(os.listdir(build)) if f.startswith("compared-")],
    "bench": [json.loads(line) for line in open(bench) if line.startswith("{")] if os.path.exists(bench) else [],
}
json.dump(summary, open(out, "w"), indent=1)
print(json.dumps({k: summary[k] for k in ("commit", "gpu", "passed", "failed")}))
sys.exit(1 if summary["failed"] else 0)
PYTHON
