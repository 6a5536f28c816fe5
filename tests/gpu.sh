#!/usr/bin/env bash
# What is to be seen on a GPU, in one call of less than ten minutes (docs/cuda.md):
#   tests/gpu.sh pack           here: gathers in .gpu/, which git ignores, what a bare machine lacks: the programs, built for Hopper GPUs by
#                               nvcc, texts ($DATA's captions, rescoring and multi30k, or the folders that TEXTS names), CCE and Liger for
#                               Python, and what earlier runs have found of this commit (experiments/gpu)
#   tests/gpu.sh run [STEP...]  there, with .gpu/ carried along: all steps by priority within DEADLINE seconds; OUT/gpu.json after each
#   tests/gpu.sh list           the steps: priority, cap in seconds, what each decides
#   tests/gpu.sh unpack         there: what is packed alone, as `run` does first
set -euo pipefail
[ -z "${DATA:-}" ] || DATA=$(realpath -m "$DATA")
cd "$(dirname "$0")/.."

case ${1:-} in
  list) exec python3 tests/cuda/gpu_run.py --list ;;
  run | unpack)
    [ ! -f .gpu/packed.tar.xz ] || python3 -m tarfile -e .gpu/packed.tar.xz .gpu
    rm -f .gpu/packed.tar.xz
    [ "$1" = unpack ] || exec python3 tests/cuda/gpu_run.py "${@:2}"
    exit
    ;;
  pack) ;;
  *)
    echo "usage: tests/gpu.sh pack | run [STEP...] | list | unpack" >&2
    exit 2
    ;;
esac

data=${DATA:?set DATA to the folder of the corpora (experiments/data.md)}
most=${MOST:-64}  # MiB that the other machine takes beside the checkout
parts="bin data python"
rm -rf .gpu/bin .gpu/data .gpu/python
mkdir -p .gpu/bin .gpu/data .gpu/python
for text in ${TEXTS:-captions rescoring multi30k}; do cp -r "$data/$text" .gpu/data/; done
newest=$(find experiments/gpu -name '*.json' | sort | tail -n 1)
[ -z "$newest" ] || cp "$newest" .gpu/gpu.json
echo "$(git rev-parse HEAD)$([ -z "$(git status --porcelain --untracked-files=no)" ] || echo -dirty)" > .gpu/commit
# Peers of the output layer, of Python alone: their kernels are compiled there, by the Triton of that machine's PyTorch.
if python3 -m pip download --quiet --no-deps --dest .gpu/wheels cut-cross-entropy==25.1.1 liger-kernel==0.6.4; then
  for wheel in .gpu/wheels/*.whl; do python3 -m zipfile -e "$wheel" .gpu/python; done
else
  echo "no CCE and Liger: pip cannot fetch them; the step \"heads\" will do without"
fi
rm -rf .gpu/wheels
# Without libraries that the other machine may lack.
cmake -S . -B build-gpu -G Ninja -DNINE_CUDA=ON -DNINE_CUDA_ARCHS="${ARCH:-90}" -DNINE_XSMM=OFF -DNINE_MPI=OFF
programs="gpu_tests bench_lm bench_mt lm_train lm_rescore lm_score mt_train mt_translate bpe"
# shellcheck disable=SC2086
ninja -C build-gpu -j "${JOBS:-2}" $programs
for program in $programs; do strip -o ".gpu/bin/$program" "build-gpu/bin/$program"; done
# What the programs have in common is far more than what tells them apart: a window that spans them stores it once.
# shellcheck disable=SC2086
tar -C .gpu -cf - $parts | xz --lzma2=preset=3,dict=160MiB > .gpu/packed.tar.xz
# shellcheck disable=SC2086
(cd .gpu && rm -r $parts)
du -sh .gpu
size=$(du -sm .gpu | cut -f1)
if [ "$size" -gt "$most" ]; then
  echo ".gpu has $size MiB, and $most are carried: leave texts out of DATA, or raise MOST" >&2
  exit 1
fi
