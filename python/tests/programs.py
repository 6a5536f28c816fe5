"""Nine's programs and small models that they trained, for comparisons with the package.

NINE_BIN names the folder of the programs; without it these tests are skipped.
"""

import functools
import json
import os
import random
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

__all__ = ["json", "signal"]  # for tests
BIN = os.environ.get("NINE_BIN", "")
needs_programs = pytest.mark.skipif(not BIN, reason="NINE_BIN does not name Nine's programs")


def run(program, *arguments, given="", code=0):
    """The output of a program."""
    done = subprocess.run(
        [os.path.join(BIN, program), *map(str, arguments)],
        input=given,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@functools.lru_cache(None)
def directory() -> Path:
    kept = tempfile.TemporaryDirectory()
    directory.kept = kept  # deleted at exit
    return Path(kept.name)


def write(name, lines) -> str:
    path = directory() / name
    path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def defaults(*program) -> dict:
    """The defaults of the program's options, as its --help has them: None where it names none."""
    shown = re.sub(r"\n {10,}", " ", run(*program, "--help"))
    options = re.findall(r"^ +--(?:\[no-\])?([a-z0-9-]+)(.*)$", shown, re.M)
    found = ((name, re.search(r"default ([^;)]+)\)", text)) for name, text in options)
    return {name.replace("-", "_"): default and default[1] for name, default in found}


def least(*program) -> dict:
    """The least values of the program's numbers, as its --help has them."""
    shown = re.sub(r"\n {10,}", " ", run(*program, "--help"))
    numbers = r"^ +--([a-z0-9-]+) .*\((?:at least )?(-?[0-9]+)(?: to [0-9]+)?; default"
    return {name.replace("-", "_"): int(low) for name, low in re.findall(numbers, shown, re.M)}


def sentences(count, seed=5):
    draw = random.Random(seed)
    subjects = ["the cat", "the dog", "a bird", "the old man", "she"]
    verbs = ["saw", "heard", "liked", "fed"]
    objects = ["the dog", "a cat", "him", "the young woman"]
    return [
        " ".join(draw.choice(part) for part in (subjects, verbs, objects)) for _ in range(count)
    ]


@functools.lru_cache(None)
def language_model(head="lin", seed=1) -> str:
    text = write("train.txt", sentences(300))
    name = directory() / f"lm-{seed}-{head.replace(':', '_')}"
    run("lm_train", "--train", text, "--layers", 1, "--hidden", 16, "--embed", 12, "--batch", 4,
        "--bptt", 8, "--lr", 0.01, "--head", head, "--after", "60u", "--seed", seed,
        "--run", name)  # fmt: skip
    return str(name)


@functools.lru_cache(None)
def pairs():
    """English sentences, and the same in another order as the other language."""
    english = sentences(300, seed=9)
    return [" ".join("x" + word for word in reversed(line.split())) for line in english], english


@functools.lru_cache(None)
def translation_model(seed=1, min_count=1) -> str:
    source, target = pairs()
    files = [write("train.src", source), write("train.tgt", target)]
    name = directory() / (f"mt-{seed}" if min_count == 1 else f"mt-{seed}-{min_count}")
    run("mt_train", "--src", files[0], "--tgt", files[1], "--layers", 1, "--hidden", 16,
        "--heads", 2, "--ffn", 32, "--batch-tokens", 400, "--lr", 0.01, "--warmup", 20, "--after",
        "80u", "--seed", seed, "--min-count", min_count, "--max-unknown", 1,
        "--run", name)  # fmt: skip
    return str(name)


@functools.lru_cache(None)
def prose_model() -> str:
    """A model of raw text, trained on sentences with capitals, a tab and marks."""
    source, target = (
        [f"\u201e{line.capitalize()}!\u201c\t({n})" for n, line in enumerate(side[:100])]
        for side in pairs()
    )
    files = [write("prose.src", source), write("prose.tgt", target)]
    name = directory() / "mt-prose"
    run("mt_train", "--raw", "--src", files[0], "--tgt", files[1], "--layers", 1, "--hidden", 16,
        "--heads", 2, "--ffn", 32, "--batch-tokens", 2000, "--vocab-size", 300, "--after", "20u",
        "--run", name)  # fmt: skip
    return str(name)


@functools.lru_cache(None)
def codes() -> str:
    path = str(directory() / "codes")
    run(
        "bpe",
        "learn",
        "--input",
        write("bpe.txt", sentences(100)),
        "--output",
        path,
        "--merges",
        20,
    )
    return path
