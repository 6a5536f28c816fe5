#!/usr/bin/env python3
"""Compares the logs of three runs of lm_train from one seed: the CPU, a GPU, the GPU again.

  compare_runs.py CPU GPU AGAIN
  compare_runs.py --losses RUN...    prints the losses of some updates of each run, and compares nothing

The GPU must follow the CPU within the growth of float32 rounding (losses within 1e-3 of each other
at every update, relative), and do the same twice to the last bit: losses, and the weights of the
last checkpoint. Prints what it found as a line of JSON.
"""
import hashlib
import json
import os
import sys

SHOWN = (1, 2, 5, 10, 20, 50, 100)


def losses(run):
    events = [json.loads(line) for line in open(os.path.join(run, "log.jsonl"))]
    return [e["loss"] for e in events if e["event"] == "train"]


def weights(run):
    files = {}
    for folder, _, names in os.walk(os.path.join(run, "checkpoints")):
        for name in names:
            if name.endswith(".safetensors"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    files[os.path.relpath(path, run)] = hashlib.sha256(file.read()).hexdigest()
    return files


def compare(cpu_run, gpu_run, again_run):
    cpu, gpu, again = losses(cpu_run), losses(gpu_run), losses(again_run)
    apart = [abs(a - b) / abs(a) for a, b in zip(cpu, gpu)]
    result = {
        "runs": [os.path.basename(r) for r in (cpu_run, gpu_run, again_run)],
        "updates": len(cpu),
        "first_relative_difference": apart[0] if apart else None,
        "largest_relative_difference": max(apart, default=None),
        "last_loss": [cpu[-1], gpu[-1]] if cpu and gpu else None,
        "same_losses_twice": gpu == again,
        "same_weights_twice": bool(weights(gpu_run)) and weights(gpu_run) == weights(again_run),
    }
    result["ok"] = (
        len(cpu) == len(gpu) > 0
        and result["largest_relative_difference"] < 1e-3
        and result["same_losses_twice"]
        and result["same_weights_twice"]
    )
    print(json.dumps(result))
    return 0 if result["ok"] else 1


def show(runs):
    for run in runs:
        of = losses(run)
        shown = {str(n): of[n - 1] for n in SHOWN if n <= len(of)}
        print(json.dumps({"run": os.path.basename(run), "losses": shown, "largest": max(of)}))
    return 0


if __name__ == "__main__":
    sys.exit(show(sys.argv[2:]) if sys.argv[1] == "--losses" else compare(*sys.argv[1:]))
