#!/usr/bin/env python3
"""bpe beside subword-nmt and Hugging Face tokenizers, in turns: learn and apply 10,000 merges.

  pip install subword-nmt tokenizers
  python3 tests/bench/bench_bpe.py build/bin/bpe train.de train.en

Then byte-level tokenizers, bpe learn --bytes and bpe apply --tokenizer beside Hugging Face
tokenizers and, where it is installed, tiktoken; and the floor: reading the bytes of the text once. THREADS=1 gives all one thread.

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


# Byte-level BPE with GPT-4's split, from the same file.
BYTES = r"""
import json, sys, time
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
path, size, pattern, ours = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, show_progress=False, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
start = time.perf_counter()
tokenizer.train([path], trainer)
learnt = time.perf_counter()
with open(path, encoding="utf-8", newline="") as file:
    lines = file.read().split("\n")
read = time.perf_counter()
ids = [e.ids for e in tokenizer.encode_batch(lines)]
applied = time.perf_counter()
same = json.loads(tokenizer.to_str())["model"]["merges"] == json.load(open(ours))["model"]["merges"]
out = {"tokenizers": (learnt - start, applied - read)}
try:
    import tiktoken
    spelled = {c: b for b, c in zip(sorted(range(256), key=lambda b: (not (33 <= b <= 126 or 161 <= b != 173), b)), [chr(b) for b in range(256) if 33 <= b <= 126 or 161 <= b != 173] + [chr(256 + i) for i in range(68)])}
    vocab = {t: i for t, i in tokenizer.get_vocab().items() if not t.startswith("<|")}
    ranks = {bytes(spelled[c] for c in t): i for t, i in vocab.items()}
    encoding = tiktoken.Encoding("bench", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    start = time.perf_counter()
    encoding.encode_ordinary_batch(lines, num_threads=int(sys.argv[5]))
    out["tiktoken"] = (None, time.perf_counter() - start)
except ImportError:
    pass
print(json.dumps({"seconds": out, "same": same, "ids": sum(map(len, ids))}))
"""
GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def bytes_bench(ours, text, folder):
    """Byte-level tokenizers; whether the merges are the same."""
    threads = int(os.environ.get("THREADS", str(os.cpu_count())))
    os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
    size = str(MERGES)
    path = lambda name: os.path.join(folder, name)
    seconds, same = {}, True
    for _ in range(ROUNDS):
        learn = timed(
            [ours, "learn", "--bytes", "--vocab-size", size]
            + ["--input", text, "--output", path("tokenizer.json")]
        )
        apply = timed(
            [ours, "apply", "--tokenizer", path("tokenizer.json")]
            + ["--input", text, "--output", path("ids")]
        )
        seconds.setdefault("nine", []).append((learn, apply))
        result = json.loads(
            subprocess.run(
                [
                    sys.executable,
                    "-c",
                    BYTES,
                    text,
                    size,
                    GPT4,
                    path("tokenizer.json"),
                    str(threads),
                ],
                check=True,
                capture_output=True,
            ).stdout
        )
        same = same and result["same"]
        for name, pair in result["seconds"].items():
            seconds.setdefault(name, []).append(pair)
        start = time.perf_counter()
        with open(text, "rb") as file:
            file.read()
        seconds.setdefault("reading", []).append((None, time.perf_counter() - start))
    megabytes = os.path.getsize(text) / 1e6
    print(f"bytes, {size} tokens, {threads} threads, {megabytes:.1f} MB")
    for name, pairs in seconds.items():
        columns = []
        for k in (0, 1):
            numbers = [pair[k] for pair in pairs if pair[k] is not None]
            columns.append(f"{statistics.median(numbers):10.3f}" if numbers else " " * 10)
        print(f"{name:14}" + "".join(columns))
    print(f"merges of bpe and tokenizers are {'the same' if same else 'DIFFERENT'}")
    return same


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
    same = bytes_bench(ours, text, folder) and same
    shutil.rmtree(folder)
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
