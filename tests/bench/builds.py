#!/usr/bin/env python3
"""The same programs of two builds, or of one under two instruction sets, in alternating rounds.

  builds.py --record FILE.jsonl [--rounds 9] native=build-native default=build
  builds.py --record FILE.jsonl avx2=build:avx2 avx512=build:avx512

NAME=BUILD[:ISA]: a build's folder and what NINE_ISA is set to for it. Every round runs each command
once by the first and once by the second; a figure is a program's own median of its steps, of
bench_decode the sum of its rows, of `bpe apply` the whole process. FILE gets a line for each, so
that the same command goes on where it was stopped. The table prints median and best of the rounds,
and the second's over the first's. `bpe` needs the corpora ($DATA, experiments/data.md).
"""
import argparse
import json
import os
import re
import statistics
import tempfile
import time

from rounds import read, run

ROWS = (
    "bench_lm --vocab 30000 --steps 3 --warmup 1",
    "bench_lm --vocab 1000 --dim 64 --steps 200 --warmup 20",
    "bench_mt --steps 1 --warmup 1",
    "bench_decode --repeats 3",
    "bench_generate",
    "bench_generate --arch mt",
    "bpe apply",
)
LINES, MERGES = 60000, 4000


def prepare_bpe(folder, programs):
    """A text, and codes learned from it."""
    text, codes = os.path.join(folder, "text"), os.path.join(folder, "codes")
    with open(
        os.path.join(os.environ["DATA"], "captions", "train.en"), encoding="utf-8"
    ) as whole, open(text, "w", encoding="utf-8") as out:
        out.writelines(line for line, _ in zip(whole, range(LINES)))
    run(
        [
            os.path.join(programs, "bpe"),
            "learn",
            "--merges",
            str(MERGES),
            "--input",
            text,
            "--output",
            codes,
        ]
    )
    return ["--codes", codes, "--input", text, "--output", os.path.join(folder, "out")]


def figure(row, programs, environment, bpe):
    """Milliseconds of one run."""
    name, *options = row.split()
    start = time.perf_counter()
    printed = run(
        [os.path.join(programs, name), *options, *(bpe if name == "bpe" else [])], environment
    )
    if name == "bpe":
        return (time.perf_counter() - start) * 1e3
    if name == "bench_decode":
        return sum(
            float(re.split(r"\s*\|\s*", line)[3])
            for line in printed.splitlines()
            if re.match(r"\| \d", line)
        )
    return json.loads(printed.splitlines()[-1])["s_per_step"] * 1e3


def collect(o, sides, rows):
    done = {(r["round"], r["row"], r["side"]) for r in read(o.record)}
    with tempfile.TemporaryDirectory() as folder, open(o.record, "a", encoding="utf-8") as out:
        bpe = prepare_bpe(folder, os.path.join(sides[0][1], "bin")) if "bpe apply" in rows else []
        for number in range(o.rounds):
            for row in rows:
                for name, build, isa in sides:
                    if (number, row, name) not in done:
                        ms = figure(
                            row,
                            os.path.join(build, "bin"),
                            os.environ | ({"NINE_ISA": isa} if isa else {}),
                            bpe,
                        )
                        print(
                            json.dumps(
                                {"round": number, "row": row, "side": name, "ms": round(ms, 4)}
                            ),
                            file=out,
                            flush=True,
                        )


def table(records, names):
    first, second = names
    print(
        f"| command | {first}, median (best), ms | {second}, median (best), ms | {second}/{first}: medians, best |\n|---|---|---|---|"
    )
    for row in ROWS:
        a, b = (
            [r["ms"] for r in records if (r["row"], r["side"]) == (row, name)] for name in names
        )
        if a and b:
            shown = [f"{statistics.median(x):.4g} ({min(x):.4g})" for x in (a, b)]
            print(
                f"| `{row}` | {shown[0]} | {shown[1]} | {statistics.median(b) / statistics.median(a):.2f}, {min(b) / min(a):.2f} |"
            )


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("sides", nargs=2, metavar="NAME=BUILD[:ISA]")
    p.add_argument("--record", required=True)
    p.add_argument("--rounds", type=int, default=9, help="0: only the table of what is recorded")
    o = p.parse_args()
    sides = [
        (name, *(*where.split(":"), "")[:2])
        for name, where in (side.split("=", 1) for side in o.sides)
    ]
    rows = list(ROWS)
    if "DATA" not in os.environ:
        rows.remove("bpe apply")
    collect(o, sides, rows)
    table(read(o.record), [name for name, *_ in sides])


if __name__ == "__main__":
    main()
