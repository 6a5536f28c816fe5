#!/usr/bin/env bash
# Trains parts of docs/results on a GPU within some minutes, several runs at once (README.md):
#   experiments/gpu/train.sh SECONDS WORKERS PART...    on that machine, with .gpu/ of `tests/gpu.sh pack` beside the checkout
# Measurements wait on the CPU while the GPU is idle: parts that need them come last. OUT/records.tar.gz, written anew every five seconds, has
# the records that are new: unpack it in the repository here (runs/new), then experiments/table --pack.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1 workers=$2
shift 2
tests/gpu.sh unpack
export DATA=${DATA:-$PWD/.gpu/data} OUT=${OUT:-build-gpu/out}
work=$(mktemp -d)
mkdir -p "$OUT" runs/new
touch "$work/began"
keep() {
  find runs/new -name '*.jsonl' -newer "$work/began" -print0 | tar --null -czf "$work/records" -T - && mv "$work/records" "$OUT/records.tar.gz"
  cat "$work"/worker-* > "$OUT/workers.log"
}
# The kernels of several processes run beside each other with it, else in turns; no setting of the card is changed.
if command -v nvidia-cuda-mps-control > /dev/null; then
  export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps-log
  mkdir -p "$work/mps" "$work/mps-log"
  nvidia-cuda-mps-control -d
  trap 'echo quit | nvidia-cuda-mps-control > /dev/null' EXIT
fi
for i in $(seq "$workers"); do
  python3 experiments/run "$@" --device cuda --programs .gpu/bin --runs "$work/runs" --minutes "$(python3 -c "print($seconds / 60)")" > "$work/worker-$i" 2>&1 &
  sleep 0.3
done
while [ -n "$(jobs -rp)" ]; do
  sleep "${EVERY:-5}"
  keep
done
keep  # also where all had ended before the first look
grep -h failed "$work"/worker-* || true
tar -tzf "$OUT/records.tar.gz"
