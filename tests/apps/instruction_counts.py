#!/usr/bin/env python3
"""Holds the instructions of steps and of bpe apply to a table, within 3%: a loss of speed that no
noise hides.

  instruction_counts.py BIN_DIR            compares with instruction_counts.json beside this file
  instruction_counts.py BIN_DIR --write    writes the table: a commit that changes a count says why

Counted by valgrind, which imitates a CPU with AVX2, on one thread: of a step, what two steps need
more than one; of bpe apply, what a text needs more than its first line. Exit 0 fine, 1
more or fewer than 3% away or no valgrind, 77 skipped: another compiler than the table's.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instruction_counts.json")
TOLERANCE = 0.03
GENERATE = [
    "bench_generate",
    "--vocab",
    "1000",
    "--dim",
    "64",
    "--ffn",
    "128",
    "--heads",
    "4",
    "--layers",
    "1",
    "--texts",
    "8",
    "--length",
    "10",
]
STEPS = {
    "lm": [
        "bench_lm",
        "--vocab",
        "2000",
        "--dim",
        "64",
        "--layers",
        "1",
        "--batch",
        "10",
        "--bptt",
        "10",
    ],
    "log": [
        "bench_lm",
        "--vocab",
        "2000",
        "--dim",
        "64",
        "--layers",
        "1",
        "--batch",
        "10",
        "--bptt",
        "10",
        "--head",
        "log",
    ],
    "mos": [
        "bench_lm",
        "--vocab",
        "2000",
        "--dim",
        "64",
        "--layers",
        "1",
        "--batch",
        "10",
        "--bptt",
        "10",
        "--head",
        "mos",
        "--components",
        "4",
    ],
    "mt": [
        "bench_mt",
        "--vocab",
        "1000",
        "--dim",
        "64",
        "--ffn",
        "128",
        "--heads",
        "4",
        "--layers",
        "1",
        "--sentences",
        "8",
        "--length",
        "10",
    ],
    "generate": GENERATE,
    "translate": [*GENERATE, "--arch", "mt", "--top-k", "10"],
}


def compiler(binary):
    """What compiled a program, by the notes that compilers leave in it; those of CUDA's runtime
    (Red Hat's) say nothing."""
    note = subprocess.run(
        ["readelf", "-p", ".comment", binary], capture_output=True, text=True, check=True
    ).stdout
    return sorted(
        {name for name in re.findall(r"(GCC: .*|clang version .*)", note) if "Red Hat" not in name}
    )


def instructions(*command):
    environment = {**os.environ, "NINE_ISA": "avx2", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
        env=environment,
        capture_output=True,
        text=True,
    )
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout}\n{run.stderr}")
    return int(re.search(r"Collected : (\d+)", run.stderr).group(1))


def step(bin_dir, name, *options):
    def steps(count):
        return instructions(
            os.path.join(bin_dir, name),
            *options,
            "--threads",
            "1",
            "--warmup",
            "0",
            "--steps",
            str(count),
        )

    return steps(2) - steps(1)


def bpe_apply(bin_dir, directory):
    """A text of 4,000 lines whose words repeat as words do."""

    def path(name):
        return os.path.join(directory, name)

    bpe = os.path.join(bin_dir, "bpe")
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "ei", "ou")]

    def word(i):
        return "".join(syllables[(i * k + k) % len(syllables)] for k in range(1, 2 + i % 4))

    with open(path("text"), "w") as out:
        for i in range(4000):
            out.write(
                " ".join(word((i * i + 7 * j * j) % (50 if j % 2 else 3000)) for j in range(12))
                + "\n"
            )
    with open(path("line"), "w") as out:
        out.write(word(1) + "\n")
    subprocess.run(
        [
            bpe,
            "learn",
            "--input",
            path("text"),
            "--merges",
            "1000",
            "--output",
            path("codes"),
            "--num-workers",
            "1",
        ],
        check=True,
    )

    def apply(text):
        return instructions(
            bpe,
            "apply",
            "--codes",
            path("codes"),
            "--input",
            path(text),
            "--output",
            path("out"),
            "--num-workers",
            "1",
        )

    return apply("text") - apply("line")


def main():
    bin_dir = sys.argv[1]
    if not shutil.which("valgrind") or not shutil.which("readelf"):
        print("valgrind or readelf is not installed: make check installs them")
        return 1
    made_by = compiler(os.path.join(bin_dir, "bench_lm"))
    table = json.load(open(TABLE)) if os.path.exists(TABLE) else {}
    writes = "--write" in sys.argv
    if not writes and table["compiler"] != made_by:
        print("skipped: the table is", table["compiler"], "and this build is", made_by)
        return 77
    counts = {name: step(bin_dir, *command) for name, command in STEPS.items()}
    with tempfile.TemporaryDirectory() as directory:
        counts["bpe"] = bpe_apply(bin_dir, directory)
    if writes:
        with open(TABLE, "w") as out:
            json.dump({"compiler": made_by, "instructions": counts}, out, indent=1)
            out.write("\n")
    failed = False
    for name, count in counts.items():
        was = table["instructions"][name] if table and not writes else count
        ratio = count / was
        failed = failed or abs(ratio - 1) > TOLERANCE
        print(f"{name:4} {count:>13,} instructions, {ratio:.4f} of the table's {was:,}")
    if failed:
        print(
            f"more than {TOLERANCE:.0%} away. Where it is meant: {sys.argv[0]} BIN_DIR --write, and the commit says why"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
