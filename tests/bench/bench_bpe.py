#!/usr/bin/env python3
"""bpe beside subword-nmt and Hugging Face tokenizers, in turns: learn and apply 10,000 merges.

  pip install subword-nmt tokenizers
  python3 tests/bench/bench_bpe.py build/bin/bpe train.de train.en

The inputs are joined to one text. bpe and subword-nmt are timed as programs, from start to exit;
tokenizers without the start of Python: training from the file, and encoding all lines and joining
their tokens. Exits with 1 when the files of bpe and subword-nmt differ.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MERGES = 10000
ROUNDS = int(os.environ.get("ROUNDS", "3"))

TOKENIZERS = r"""
import json, sys, time
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
path, merges = sys.argv[1], int(sys.argv[2])
lines = [line.rstrip("\n") for line in open(path, encoding="utf-8")]
words = {word for line in lines for word in line.split(" ") if word}
symbols = {c for word in words for c in word} | {word[-1] + "</w>" for word in words}
tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
trainer = trainers.BpeTrainer(vocab_size=len(symbols) + merges, min_frequency=2, end_of_word_suffix="</w>", show_progress=False)
start = time.perf_counter()
tokenizer.train([path], trainer)
learnt = time.perf_counter()
text = "\n".join(" ".join(e.tokens) for e in tokenizer.encode_batch(lines))
applied = time.perf_counter()
found = len(json.loads(tokenizer.to_str())["model"]["merges"])
print(json.dumps({"learn": learnt - start, "apply": applied - learnt, "merges": found}))
"""


def timed(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main():
    ours, inputs = sys.argv[1], sys.argv[2:]
    theirs = os.path.join(os.path.dirname(sys.executable), "subword-nmt")
    folder = tempfile.mkdtemp()
    path = lambda name: os.path.join(folder, name)
    text = path("text")
    with open(text, "wb") as out:
        for name in inputs:
            with open(name, "rb") as file:
                shutil.copyfileobj(file, out)
    seconds = {"nine": ([], []), "subword-nmt": ([], []), "tokenizers": ([], [])}
    merges = None
    for _ in range(ROUNDS):
        learn, apply = seconds["nine"]
        learn.append(
            timed(
                [
                    ours,
                    "learn",
                    "--merges",
                    str(MERGES),
                    "--input",
                    text,
                    "--output",
                    path("ours.codes"),
                ]
            )
        )
        apply.append(
            timed(
                [
                    ours,
                    "apply",
                    "--codes",
                    path("ours.codes"),
                    "--input",
                    text,
                    "--output",
                    path("ours.bpe"),
                ]
            )
        )
        learn, apply = seconds["subword-nmt"]
        learn.append(
            timed([theirs, "learn-bpe", "-s", str(MERGES), "-i", text, "-o", path("theirs.codes")])
        )
        apply.append(
            timed(
                [
                    theirs,
                    "apply-bpe",
                    "-c",
                    path("theirs.codes"),
                    "-i",
                    text,
                    "-o",
                    path("theirs.bpe"),
                ]
            )
        )
        learn, apply = seconds["tokenizers"]
        result = json.loads(
            subprocess.run(
                [sys.executable, "-c", TOKENIZERS, text, str(MERGES)],
                check=True,
                capture_output=True,
            ).stdout
        )
        learn.append(result["learn"])
        apply.append(result["apply"])
        merges = result["merges"]
    same = all(
        open(path("ours." + x), "rb").read() == open(path("theirs." + x), "rb").read()
        for x in ("codes", "bpe")
    )
    base = [statistics.median(s) for s in seconds["nine"]]
    print(
        f"{'':14}{'learn s':>10}{'apply s':>10}{'learn x':>10}{'apply x':>10}   medians of {ROUNDS}"
    )
    for name, (learn, apply) in seconds.items():
        l, a = statistics.median(learn), statistics.median(apply)
        print(f"{name:14}{l:10.3f}{a:10.3f}{l / base[0]:10.1f}{a / base[1]:10.1f}")
    print(
        f"tokenizers made {merges} merges; codes and text of bpe and subword-nmt are {'the same' if same else 'DIFFERENT'}"
    )
    shutil.rmtree(folder)
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
