#!/usr/bin/env python3
"""What language models give to the words of a text, by how often the training text has them, and what they keep for those words.

  by_count.py TRAIN TEXT RUN [RUN ...] [--language]

RUN is a checkpoint, or a run's directory (its best), of a model with the head lin. A line for each class of counts, for the ends of
sentences, for all but the words without a count, and for all: words of the vocabulary and of TEXT in it, and of each run the mean
log-probability (natural) of those in TEXT, the mean bias and length of the vector of those in the vocabulary. Each line of TEXT is scored
from a fresh state; where it has words that are not in the vocabulary, their scores are those of <unk>. --language adds the exact
log-probabilities of SS' language, of which TEXT must be.
"""
import argparse
import collections
import math
import pathlib
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
from distances import checkpoint, dictionary, tensors  # noqa: E402
from driver import zipf  # noqa: E402
from driver.text import sentences  # noqa: E402

END, UNKNOWN = "</s>", "<unk>"
CLASSES = {"0": 0, "1": 1, "2 to 4": 4, "5 to 16": 16, "17 to 64": 64, "65 to 256": 256, "257 or more": math.inf, END: -1}  # and the most of each


def class_of(word, counts):
    return END if word == END else next(name for name, most in CLASSES.items() if counts[word] <= most)


def by_class(words, counts, values):
    """{class: the values of its words}, and last those of all but class 0 and of all."""
    found = {name: [] for name in CLASSES}
    for word, value in zip(words, values, strict=True):
        found[class_of(word, counts)].append(value)
    seen = [value for name, some in found.items() if name != "0" for value in some]
    return {**found, "1 or more, and </s>": seen, "all": [*found["0"], *seen]}


def scored(run, text, programs):
    command = [programs / "lm_score", "--checkpoint", run, "--input", text, "--tokens"]
    return [float(x) for x in subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()]


def kept(directory):
    """[(word, bias, length of its vector)] of the vocabulary."""
    words = [END, UNKNOWN, *dictionary(directory)]
    model = tensors(directory / "model.safetensors", {"head.weight", "head.bias"})
    return [(word, bias, math.hypot(*w)) for word, bias, w in zip(words, model["head.bias"][0], model["head.weight"], strict=True) if word != UNKNOWN]


def main(arguments=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("train", type=pathlib.Path)
    p.add_argument("text", type=pathlib.Path)
    p.add_argument("runs", type=pathlib.Path, nargs="+", metavar="RUN")
    p.add_argument("--language", action="store_true", help="SS' (driver/zipf.py)")
    p.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/bin"), metavar="DIR")
    o = p.parse_args(arguments)
    counts = collections.Counter(word for line in sentences(o.train) for word in line)
    text = sentences(o.text)
    words = [word for line in text for word in (*line, END)]
    columns = []  # (title, by_class())
    if o.language:
        language = zipf.Language()
        columns.append(("ln p, language", by_class(words, counts, [x for line in text for x in language.log_ps(list(map(language.read, line)))])))
    models = [tuple(zip(*kept(checkpoint(run)))) for run in o.runs]
    vocabulary = models[0][0]
    for run, (own, _, _) in zip(o.runs, models):  # before minutes of scoring
        if own != vocabulary:
            p.error(f"{run} has another vocabulary than {o.runs[0]}")
    for run, (own, biases, lengths) in zip(o.runs, models):
        columns += [(f"ln p, {run.name}", by_class(words, counts, scored(run, o.text, o.programs))), ("bias", by_class(own, counts, biases)), ("length", by_class(own, counts, lengths))]
    print("| occurrences in training | words | in the text |", *(f"{title} |" for title, _ in columns))
    print("|---|---|---|" + "---|" * len(columns))
    of_text, known = by_class(words, counts, words), by_class(vocabulary, counts, vocabulary)
    for name in known:
        means = (statistics.fmean(values[name]) if values[name] else math.nan for _, values in columns)
        print(f"| {name} | {len(known[name]):,} | {len(of_text[name]):,} |", *(f"{x:.4f} |" for x in means))


if __name__ == "__main__":
    main()
