#!/usr/bin/env python3
"""The perplexities below which a head with bounded scores cannot get on a text (docs/heads.md,
Bounds).

  floors.py TRAIN TEXT

With scores in [m, 1] and a word bias no model has a lower perplexity than that of the text's own
word counts, times e^(m - 1): rbf has m = 0, wav with a = b has m = -0.067. Without a bias the floor
is 1 + (V - 1) e^(m - 1). Words that TRAIN has less than --min-count times are <unk>, and every line
ends with </s>.
"""
import argparse
import collections
import math
import sys

sys.dont_write_bytecode = True
from driver.projection import wav_least  # noqa: E402
from driver.text import sentences  # noqa: E402


def perplexity(counts, shares):
    total = sum(counts.values())
    return math.exp(-sum(n * math.log(shares[word]) for word, n in counts.items()) / total)


def shares(counts):
    total = sum(counts.values())
    return {word: n / total for word, n in counts.items()}


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("train")
    p.add_argument("text")
    p.add_argument("--min-count", type=int, default=3)
    p.add_argument(
        "--vocab",
        type=int,
        help="words of the vocabulary; those of TRAIN, </s> and <unk> when not given",
    )
    p.add_argument("--wav", nargs=2, type=float, default=(1, 1), metavar=("A", "B"))
    o = p.parse_args()
    train, text = sentences(o.train), sentences(o.text)
    seen = collections.Counter(word for s in train for word in s)
    kept = {word for word, n in seen.items() if n >= o.min_count}
    vocab = o.vocab or len(kept) + 2

    def count(lines):
        words = collections.Counter(word if word in kept else "<unk>" for s in lines for word in s)
        words["</s>"] = len(lines)
        return words

    own, trained = count(text), count(train)
    unigram = perplexity(own, shares(own))
    print(f"V = {vocab}, words of the text with </s>: {sum(own.values())}")
    print(f"perplexity by the text's own counts: {unigram:.1f}")
    if all(word in trained for word in own):
        print(f"perplexity by the training text's counts: {perplexity(own, shares(trained)):.1f}")
    for name, m in (("rbf", 0.0), (f"wav, a = {o.wav[0]:g}, b = {o.wav[1]:g}", wav_least(*o.wav))):
        print(
            f"{name}: scores from {m:.3f} to 1, a factor of {math.exp(1 - m):.3f}; floors"
            f" {unigram * math.exp(m - 1):.1f} with a bias,"
            f" {1 + (vocab - 1) * math.exp(m - 1):,.0f} without"
        )


if __name__ == "__main__":
    main()
