#!/bin/bash
# Trains nanoGPT's character model of tiny Shakespeare with its CPU settings (4 layers, 4 heads, width
# 128, windows of 64, batches of 12, 2,000 updates): in GPT-2's shape, and with --arch llama.
#
#   experiments/nanogpt.sh [DIRECTORY [OPTION...]]
#
# Needs $DATA/shakespeare/input.txt, and skips (exit status 77) without it. A character is a word of
# the text, a space is the word U+2581, and a line's end is </s>: so nats a token are nats a
# character. The first nine tenths are the training text, as in nanoGPT. Further options go to both
# trainings. Prints nats a character and seconds of each: as lm_train validates, in overlapping
# windows, and with `lm_score --window 64`, in windows of 64 with nothing before them.
#
# NANOGPT: a checkout of github.com/karpathy/nanoGPT, which then trains on the same text and is
# evaluated in the same windows of 64. PYTHON: an interpreter that has torch. LR: the largest
# learning rate of all trainings (1e-3). THREADS: of each program (1).
set -euo pipefail
text=${DATA:-}/shakespeare/input.txt
if [ ! -f "$text" ]; then
  echo "skipped: there is no $text" >&2
  exit 77
fi
here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-runs/nanogpt}
shift || true
rate=${LR:-1e-3} threads=${THREADS:-1}
mkdir -p "$out"
python3 - "$text" "$out" <<'PYTHON'
import sys

text = open(sys.argv[1], encoding="utf-8").read()
cut = len(text) * 9 // 10
for name, part in (("train", text[:cut]), ("valid", text[cut:])):
    with open(f"{sys.argv[2]}/{name}.txt", "w", encoding="utf-8") as file:
        for line in part.split("\n"):
            file.write(" ".join(line.replace(" ", "\u2581")) + "\n")
PYTHON
for arch in transformer llama; do
  "$here"/build/bin/lm_train --train "$out/train.txt" --valid "$out/valid.txt" --run "$out/$arch" \
    --arch $arch --no-linear-bias --layers 4 --heads 4 --hidden 128 --bptt 64 --batch 12 \
    --order file --tie-embeddings --no-head-bias --dropout 0 --after 2000u --valid-every 500u \
    --schedule cosine --warmup 100 --lr "$rate" --threads "$threads" --optimizer adamw --betas 0.9,0.99 --weight-decay 0.1 \
    --clip 1 "$@" 2> "$out/$arch.err"
  python3 - "$out/$arch/log.jsonl" $arch <<'PYTHON'
import json
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
best = min(line["nll"] for line in lines if line["event"] == "valid")
seconds = max(line["time_s"] for line in lines if "time_s" in line)
print(f"{sys.argv[2]}: {best:.4f} nats a character on the validation text, {seconds:.0f} s")
PYTHON
  "$here"/build/bin/lm_score --checkpoint "$out/$arch" --window 64 --input "$out/valid.txt" \
    --output /dev/null 2> "$out/$arch.windows"
  python3 - "$out/$arch.windows" $arch <<'PYTHON'
import math
import sys

perplexity = float(open(sys.argv[1]).read().split("perplexity ")[1].split()[0])
print(f"{sys.argv[2]}: {math.log(perplexity):.4f} nats a character in windows of 64 by themselves")
PYTHON
done
if [ -n "${NANOGPT:-}" ]; then
  "${PYTHON:-python3}" "$here"/experiments/baselines/nanogpt.py "$NANOGPT" "$text" --lr "$rate" --threads "$threads"
else
  echo "skipped nanoGPT: NANOGPT does not name a checkout of it" >&2
fi
