#!/usr/bin/env python3
"""Updates a second of several trainings on one GPU at once: the small trainings of README.md.

  side_by_side.py PROGRAMS TEXTS N[,N...] UPDATES [OPTION ...]

PROGRAMS has lm_train, TEXTS captions/{train,val}.en; options are lm_train's. Each N is run twice,
without and with MPS (nvidia-cuda-mps-control) where there is such a program, a single training
without. Prints a JSON line for each, and one that says whether the training of a seed has the same
weights beside others and alone; if not, the exit status is 1.
"""
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

SETUP = (
    "--min-count 3 --init-bias log-frequency --hidden 512 --embed 512 --lr 0.002 --threads 1"
    " --device cuda --log-every 50 --save-every 0u --valid-every 100000u"
)
MPS = "nvidia-cuda-mps-control"


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


def weights(run):
    with open(os.path.join(run, "checkpoints", "latest", "model.safetensors"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


@contextlib.contextmanager
def environment_of(mps, folder):
    """The variables with which programs use MPS, and its daemon while they do."""
    if not mps:
        yield {}
        return
    own = {}
    for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
        own[name] = os.path.join(folder, name.lower())
        os.makedirs(own[name])
    subprocess.run([MPS, "-d"], env=os.environ | own, check=True)
    try:
        yield own
    finally:
        subprocess.run(
            [MPS], input="quit\n", text=True, env=os.environ | own, stdout=subprocess.DEVNULL
        )


def measure(n, mps, programs, texts, updates, options):
    """Prints the line of n trainings; returns the weights of each seed."""
    text = ["--train", f"{texts}/captions/train.en", "--valid", f"{texts}/captions/val.en"]
    with tempfile.TemporaryDirectory() as folder, environment_of(mps, folder) as own:
        runs = {seed: os.path.join(folder, str(seed)) for seed in range(1, n + 1)}
        children = {
            seed: subprocess.Popen(
                [
                    f"{programs}/lm_train",
                    *text,
                    *SETUP.split(),
                    *options,
                    *f"--after {updates}u --seed {seed} --run {run}".split(),
                ],
                stdout=subprocess.DEVNULL,
                env=os.environ | own,
            )
            for seed, run in runs.items()
        }
        ended = [seed for seed, child in children.items() if child.wait() == 0]
        each = [ms for ms in (milliseconds(runs[seed]) for seed in ended) if ms]
        line = {
            "trainings": n,
            "mps": mps,
            "ended": len(ended),
            "options": options,
            "ms_an_update": each,
            "updates_a_second": sum(1000 / ms for ms in each),
        }
        print(json.dumps(line), flush=True)
        return {seed: weights(runs[seed]) for seed in ended}


def main():
    programs, texts, numbers, updates, *options = sys.argv[1:]
    seen, ended = {}, True
    for n in map(int, numbers.split(",")):
        for mps in (False, True) if n > 1 and shutil.which(MPS) else (False,):
            of = measure(n, mps, programs, texts, updates, options)
            ended = ended and len(of) == n
            for seed, digest in of.items():
                seen.setdefault(seed, set()).add(digest)
    several = {seed: len(digests) for seed, digests in seen.items()}
    same = all(count == 1 for count in several.values())
    print(json.dumps({"all_ended": ended, "same_bits_alone_and_beside_others": same}))
    return 0 if same and ended else 1


if __name__ == "__main__":
    sys.exit(main())
