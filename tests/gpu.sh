#!/usr/bin/env bash
# Everything that is to be seen on a GPU (docs/cuda.md):
#   tests/gpu.sh pack       here: gathers in .gpu/, which git ignores, what a bare machine lacks: the programs, built for Hopper GPUs by
#                           nvcc, texts ($DATA), and what earlier parts have found of this commit (experiments/gpu)
#   tests/gpu.sh 1|2|3      there, with .gpu/ carried along: one part, within ten minutes; OUT/gpu.json after every step (tests/cuda/gpu_run.py)
#   tests/gpu.sh unpack     there: what is packed alone, as every part does first
set -euo pipefail
[ -z "${DATA:-}" ] || DATA=$(realpath -m "$DATA")
cd "$(dirname "$0")/.."

if [ "${1:-}" != pack ]; then
  [ ! -f .gpu/packed.tar.xz ] || python3 -m tarfile -e .gpu/packed.tar.xz .gpu
  rm -f .gpu/packed.tar.xz
  [ "${1:-}" = unpack ] || exec python3 tests/cuda/gpu_run.py "$@"
  exit
fi

data=${DATA:?set DATA to the folder of the corpora (experiments/data.md)}
rm -rf .gpu/bin .gpu/data
mkdir -p .gpu/bin .gpu/data
cp -r "$data"/captions "$data"/rescoring "$data"/multi30k .gpu/data/
newest=$(find experiments/gpu -name '*.json' | sort | tail -n 1)
[ -z "$newest" ] || cp "$newest" .gpu/gpu.json
git rev-parse HEAD > .gpu/commit
# Without libraries that the other machine may lack.
cmake -S . -B build-gpu -G Ninja -DNINE_CUDA=ON -DNINE_CUDA_ARCHS="${ARCH:-90}" -DNINE_XSMM=OFF -DNINE_MPI=OFF
programs="gpu_tests bench_lm lm_train lm_rescore lm_score mt_train mt_translate bpe"
# shellcheck disable=SC2086
ninja -C build-gpu -j "${JOBS:-2}" $programs
for program in $programs; do strip -o ".gpu/bin/$program" "build-gpu/bin/$program"; done
# What the programs have in common is far more than what tells them apart: a window that spans them stores it once.
tar -C .gpu -cf - bin data | xz --lzma2=preset=3,dict=160MiB > .gpu/packed.tar.xz
rm -r .gpu/bin .gpu/data
du -sh .gpu
