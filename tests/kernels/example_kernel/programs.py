"""Asks every program, built with the kernel of docs/kernels.md, for that kernel.

Usage: programs.py FOLDER, of the programs. Its file and its line in the list of kernels are all
that the kernel consists of.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = Path(sys.argv[1])


def run(program, *arguments, given=None):
    """What a program prints; it has to end well."""
    done = subprocess.run(
        [BIN / program, *map(str, arguments)],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{program} {arguments} ends with {done.returncode}: {done.stderr}")
    return done.stdout


def check(text, *parts):
    """Every part has to be in the text."""
    for part in parts:
        if part not in text:
            sys.exit(f"'{part}' is not in:\n{text[:3000]}")


def inspect(folder):
    """The table, the example, the exercise, the page, the figure, the check and --input."""
    check(
        run("kernel_inspect"),
        "rat   S = 1/(1 + gamma*q)\n      derivative: dS/dq = -gamma/(1 + gamma*q)^2\n",
        "gamma=1: inverse width, > 0",
        "rbf with heavier tails",
    )
    for head in "rat:gamma=0.3", "rat:gamma=learn:0.3:scale=learn:2", "mix:lin,rat":
        check(run("kernel_inspect", "--explain", head), "(1 + ", "quotient rule", "worst")
    check(run("kernel_inspect", "--exercise", "rat", "--seed", 3, "--solution"), "quotient rule")
    page = folder / "rat.html"
    run("kernel_inspect", "--explain", "rat:gamma=0.3", "--page", page)
    check(
        page.read_text(),
        '"name":"gamma","value":0.29999999999999999',
        "// 1/(1 + gamma*q)",
        "quotient rule",
        'id="board"',
    )
    run("kernel_inspect", "--plot", folder / "rat.svg", "--kernels", "rat:gamma=0.3,rat")
    check((folder / "rat.svg").read_text(), "rat", "<svg ")
    check(run("kernel_inspect", "--check", "--kernels", "rat:gamma=0.3"), "rat")
    given = {
        "head": "rat:gamma=0.5",
        "H": [[1.0, 0.0]],
        "W": [[1.0, 1.0], [0.0, 0.0]],
        "targets": [0],
    }
    out = json.loads(run("kernel_inspect", "--input", "-", given=json.dumps(given)))
    # |w - h|^2 = 1 for both words: S = 1/1.5.
    for score in out["scores"][0]:
        if abs(score - 1 / 1.5) > 1e-12:
            sys.exit(f"S = {score}, not 1/1.5")


def models(folder):
    """Language and translation models with the kernel as their head."""
    small = ["--hidden", 16, "--batch", 16, "--after", "20u"]
    lm, mt = folder / "lm", folder / "mt"
    run("lm_train", "--sample", "--run", lm, "--head", "mix:lin,rat:gamma=learn:0.3", *small)
    line = "a dog runs"
    scores = run("lm_score", "--checkpoint", lm, "--max-unknown", 1, given=line + "\n")
    check(scores, "\t" if "\t" in scores else "-")
    lists, references = folder / "nbest", folder / "references"
    lists.write_text("u1\t-5\ta dog runs\nu1\t-6\ta dog run\nu2\t-3\ta girl\n")
    references.write_text("u1\ta dog runs\nu2\ta girl\n")
    rescored = run(
        "lm_rescore",
        *("--checkpoint", lm, "--max-unknown", 1, "--lambda", 1),
        *("--nbest", lists, "--reference", references, "--output", folder / "rescored"),
    )
    check(rescored, "rescored", "oracle")
    run("mt_train", "--sample", "--run", mt, "--head", "rat", "--hidden", 16, "--after", "5u")
    run("mt_translate", "--checkpoint", mt, "--max-unknown", 1, given=line + "\n")
    run("nine_report", "--output", folder / "report.html", lm)
    check((folder / "report.html").read_text(), "rat")


with tempfile.TemporaryDirectory() as name:
    inspect(Path(name))
    models(Path(name))
