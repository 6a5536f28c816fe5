#!/bin/bash
# Trains a small model of GPT-2's shape on captions, writes it as a folder of transformers, and goes
# on from this folder with the same head and with others on top of its body.
#
#   experiments/head-swap.sh [DIRECTORY [OPTION...]]
#
# Needs $DATA/captions (data.md), and skips (exit status 77) without it. Further options go to all
# trainings. Prints a line for each head: the perplexity of the validation text where the training
# goes on (after one update with a rate of almost 0), the best one, and that of the test text.
#
# UPDATES: of each training (1000). WIDTH: of the layers (128). HEADS: the heads that go on (lin, log and a mixture). THREADS:
# of each program (1). BIN: the folder of the programs.
set -euo pipefail
captions=${DATA:-}/captions
if [ ! -f "$captions/train.en" ]; then
  echo "skipped: there is no $captions/train.en" >&2
  exit 77
fi
here=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$here/build/bin}
out=${1:-runs/head-swap}
shift || true
updates=${UPDATES:-1000}
mkdir -p "$out"
texts=(--train "$captions/train.en" --valid "$captions/val.en" --test "$captions/test.en"
  --min-count 3 --threads "${THREADS:-1}")
lengths=(--batch 16 --lr 1e-3 --schedule linear --warmup 100 --dropout 0 --valid-every 10e)
"$bin/lm_train" "${texts[@]}" "${lengths[@]}" --after "${updates}u" --run "$out/body" \
  --arch transformer --layers 2 --heads 4 --hidden "${WIDTH:-128}" --bptt 64 --activation gelu-tanh \
  --tie-embeddings --no-head-bias "$@" 2> "$out/body.err"
[ -d "$out/gpt2" ] || "$bin/nine_convert" --from "$out/body" --to "$out/gpt2"
number=0
for head in ${HEADS:-lin log mix:3*lin,log}; do
  number=$((number + 1))
  swap=("${texts[@]}" --init "$out/gpt2" --head "$head")
  "$bin/lm_train" "${swap[@]}" --run "$out/start-$number" --batch 16 --lr 1e-12 --warmup 0 \
    --schedule constant --optimizer sgd --dropout 0 --after 1u "$@" 2> "$out/start-$number.err"
  "$bin/lm_train" "${swap[@]}" "${lengths[@]}" --after "${updates}u" --run "$out/on-$number" \
    "$@" 2> "$out/on-$number.err"
done
python3 - "$out" "$number" <<'PYTHON'
import json
import sys


def last(run):
    with open(f"{sys.argv[1]}/{run}/log.jsonl", encoding="utf-8") as file:
        return json.loads(file.readlines()[-1])


def head(run):
    with open(f"{sys.argv[1]}/{run}/config.json", encoding="utf-8") as file:
        return json.load(file)["head"]


print("| head | start | validation | test |\n|---|---|---|---|")
body = last("body")
print(f"| the body's own training, lin | | {body['best_valid_ppl']:.2f} | {body['test_ppl']:.2f} |")
for number in range(1, int(sys.argv[2]) + 1):
    start, on = last(f"start-{number}"), last(f"on-{number}")
    print(
        f"| {head(f'on-{number}')} | {start['best_valid_ppl']:.2f} | {on['best_valid_ppl']:.2f} "
        f"| {on['test_ppl']:.2f} |"
    )
PYTHON
