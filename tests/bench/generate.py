#!/usr/bin/env python3
"""What a word costs in decoding, of every kind of network: the table of docs/performance.md.

  generate.py BUILD                      words a second, on a machine that does nothing else
  generate.py BUILD --instructions       million instructions a word, by valgrind, on any machine

A cell is bench_generate with one network and one number of words to choose from. Speeds are the
best of --rounds rounds, each of which runs every cell once; a cell's figure is bench_generate's own
median of its steps. Instructions are those of two steps, from runs of three steps and of one, on
one thread.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../apps"))
from instruction_counts import instructions

ROWS = {"lstm": "lstm", "transformer": "transformer", "mt": "mt: a source has 24 words"}
COLUMNS = {0: "the next word is one of all", 10: "one of the 10 likeliest"}
TEXTS = 8
SIZES = f"--vocab 10000 --dim 256 --ffn 512 --layers 2 --texts {TEXTS}".split()


def command(o, arch, top_k, *more):
    bench = os.path.join(o.build, "bin", "bench_generate")
    return [bench, "--arch", arch, "--top-k", str(top_k), *SIZES, *more]


def million_instructions(o, arch, top_k):
    one, three = (
        instructions(
            *command(o, arch, top_k, "--threads", "1", "--warmup", "0", "--steps", str(steps))
        )
        for steps in (1, 3)
    )
    return (three - one) / (2 * TEXTS) / 1e6


def words_a_second(o, arch, top_k):
    printed = subprocess.run(
        command(o, arch, top_k, "--threads", str(o.threads)),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return json.loads(printed.splitlines()[-1])["words_per_s"]


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("build", metavar="BUILD")
    p.add_argument("--instructions", action="store_true")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--threads", type=int, default=0, help="0: all physical cores")
    o = p.parse_args()
    cells = [(arch, top_k) for arch in ROWS for top_k in COLUMNS]
    if o.instructions:
        shown = {cell: f"{million_instructions(o, *cell):.2f}" for cell in cells}
    else:
        rounds = [{cell: words_a_second(o, *cell) for cell in cells} for _ in range(o.rounds)]
        shown = {cell: f"{max(r[cell] for r in rounds):,.0f}" for cell in cells}
    print("| ARCH |", " | ".join(COLUMNS.values()), "|\n|---|---|---|")
    for arch, name in ROWS.items():
        print(f"| {name} |", " | ".join(shown[arch, top_k] for top_k in COLUMNS), "|")


if __name__ == "__main__":
    main()
