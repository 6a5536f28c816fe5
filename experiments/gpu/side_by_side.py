#!/usr/bin/env python3
"""Updates a second of several trainings on one GPU at once: the small trainings of README.md.

  side_by_side.py PROGRAMS TEXTS N UPDATES [OPTION ...]

PROGRAMS has lm_train, TEXTS captions/{train,val}.en; options are lm_train's.
"""
import json
import os
import subprocess
import sys
import tempfile

SETUP = (
    "--min-count 3 --init-bias log-frequency --hidden 512 --embed 512 --lr 0.002 --threads 1"
    " --device cuda --log-every 50 --save-every 0u --valid-every 100000u"
)


def milliseconds(run):
    """Of an update, by the lines of training after the first 100 updates; None where it did not
    come that far."""
    with open(os.path.join(run, "log.jsonl")) as log:
        lines = [e for e in map(json.loads, log) if e["event"] == "train"][1:]
    return (
        1000 * (lines[-1]["time_s"] - lines[0]["time_s"]) / (lines[-1]["step"] - lines[0]["step"])
        if len(lines) > 1
        else None
    )


def main():
    programs, texts, n, updates, *options = sys.argv[1:]
    text = ["--train", f"{texts}/captions/train.en", "--valid", f"{texts}/captions/val.en"]
    with tempfile.TemporaryDirectory() as folder:
        runs = [os.path.join(folder, str(seed)) for seed in range(1, int(n) + 1)]
        children = [
            subprocess.Popen(
                [
                    f"{programs}/lm_train",
                    *text,
                    *SETUP.split(),
                    *options,
                    "--after",
                    f"{updates}u",
                    "--seed",
                    str(seed),
                    "--run",
                    run,
                ],
                stdout=subprocess.DEVNULL,
            )
            for seed, run in enumerate(runs, 1)
        ]
        ended = [run for child, run in zip(children, runs) if child.wait() == 0]
        each = [ms for ms in map(milliseconds, ended) if ms]
        print(
            json.dumps(
                {
                    "trainings": int(n),
                    "ended": len(ended),
                    "options": options,
                    "ms_an_update": each,
                    "updates_a_second": sum(1000 / ms for ms in each),
                }
            )
        )


if __name__ == "__main__":
    main()
