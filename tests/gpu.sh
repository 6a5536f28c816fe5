#!/usr/bin/env bash
# Everything that is to be seen on a GPU (docs/cuda.md):
#   tests/gpu.sh pack       here: gathers in .gpu/, which git ignores, what a bare machine lacks: the headers of Eigen and others,
#                           texts ($DATA/captions), and what earlier parts have found of this commit (experiments/gpu/gpu.json)
#   tests/gpu.sh 1|2|3      there, with .gpu/ carried along: one part, within ten minutes; OUT/gpu.json after every step (tests/cuda/gpu_run.py)
set -euo pipefail
[ -z "${DATA:-}" ] || DATA=$(realpath -m "$DATA")
cd "$(dirname "$0")/.."

[ "${1:-}" = pack ] || exec python3 tests/cuda/gpu_run.py "$@"

data=${DATA:?set DATA to the folder of the corpora (experiments/README.md)}
mkdir -p .gpu/data .gpu/root
for package in libeigen3-dev nlohmann-json3-dev libcli11-dev doctest-dev; do
  dpkg -L "$package" | while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done
done | grep -v -e /doc/ -e unsupported | tar -cf - -T - 2>/dev/null | tar -xf - -C .gpu/root
head -n 20000 "$data"/captions/train.en > .gpu/data/train.en
cp "$data"/captions/val.en .gpu/data/valid.en
[ ! -f experiments/gpu/gpu.json ] || cp experiments/gpu/gpu.json .gpu/gpu.json
git rev-parse HEAD > .gpu/commit
du -sh .gpu
