#!/usr/bin/env python3
"""How far the words of a trained language model (lstm) are from its contexts: squared distances q,
by which rbf, wav and log score.

  distances.py RUN TEXT [--lines N]

RUN is a checkpoint, or a run's directory (its best). The text is read as in validation: a line
after the other, </s> between, the state carried.
"""
import argparse
import math
import pathlib
import sys

sys.dont_write_bytecode = True
from driver.models import checkpoint, dictionary, tensors  # noqa: E402
from driver.text import sentences  # noqa: E402


def dot(a, b):
    return sum(map(float.__mul__, a, b))


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def contexts(model, words):
    """What the last layer says before each word; torch.nn.LSTM's formulas and order of gates."""
    layers = sum(name.startswith("lstm.weight_ih_l") for name in model)
    width = len(model["lstm.weight_hh_l0"][0])
    h, c = [[0.0] * width for _ in range(layers)], [[0.0] * width for _ in range(layers)]
    for word in [0, *words][:-1]:  # </s> is before the first
        x = model["embedding.weight"][word]
        for k in range(layers):
            own = lambda name: model[f"lstm.{name}_l{k}"]
            gates = [
                dot(a, x) + dot(b, h[k]) + p + r
                for a, b, p, r in zip(
                    own("weight_ih"), own("weight_hh"), own("bias_ih")[0], own("bias_hh")[0]
                )
            ]
            i, f, g, o = (gates[n * width : (n + 1) * width] for n in range(4))
            c[k] = [
                sigmoid(b) * old + sigmoid(a) * math.tanh(new)
                for a, b, new, old in zip(i, f, g, c[k])
            ]
            h[k] = x = [sigmoid(a) * math.tanh(b) for a, b in zip(o, c[k])]
        yield x


def summary(found, words):
    """`found` are contexts, `words` word vectors: means of the squared norms, of q, its least, and
    the contexts' variance (their mean squared distance from their mean)."""
    lengths, norms, centre = (
        [dot(h, h) for h in found],
        [dot(w, w) for w in words],
        [math.fsum(x) / len(found) for x in zip(*found)],
    )
    q = [
        max(0.0, length + norm - 2 * dot(h, w))
        for h, length in zip(found, lengths)
        for w, norm in zip(words, norms)
    ]
    squares = math.fsum(lengths) / len(found)
    return {
        "positions": len(found),
        "words": len(words),
        "squared norm of a context": squares,
        "variance of the contexts": squares - dot(centre, centre),
        "squared norm of a word": math.fsum(norms) / len(words),
        "q, mean": math.fsum(q) / len(q),
        "q, least": min(q),
    }


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("run", type=pathlib.Path)
    p.add_argument("text", type=pathlib.Path)
    p.add_argument(
        "--lines",
        type=int,
        default=20,
        help="of the text (20); a line takes some two seconds at width 256",
    )
    o = p.parse_args()
    directory = checkpoint(o.run)
    model = tensors(directory / "model.safetensors")
    if "lstm.weight_hh_l0" not in model:
        p.error(f"{directory} has no LSTM")
    ids = {word: i for i, word in enumerate(dictionary(directory), 2)}
    words = [
        i
        for line in sentences(o.text)[: o.lines]
        for i in [*(ids.get(word, 1) for word in line), 0]
    ]
    for name, value in summary(list(contexts(model, words)), model["head.weight"]).items():
        print(f"{name}: {value:.4g}")


if __name__ == "__main__":
    main()
