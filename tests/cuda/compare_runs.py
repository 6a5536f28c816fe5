#!/usr/bin/env python3
"""Compares the logs of three runs of lm_train from one seed: the CPU, a GPU, the GPU again.

usage: compare_runs.py CPU GPU AGAIN

The GPU must follow the CPU within the growth of float32 rounding (losses within 1e-3 of each other
at every update, relative), and do the same twice to the last bit: losses, and the weights of the
last checkpoint. Prints what it found as a line of JSON.
"""
import hashlib
import json
import os
import sys


def losses(run):
    events = [json.loads(line) for line in open(os.path.join(run, "log.jsonl"))]
    return [e["loss"] for e in events if e["event"] == "train"]


def weights(run):
    files = {}
    for folder, _, names in os.walk(os.path.join(run, "checkpoints")):
        for name in names:
            if name.endswith(".safetensors"):
                path = os.path.join(folder, name)
                files[os.path.relpath(path, run)] = hashlib.sha256(
                    open(path, "rb").read()
                ).hexdigest()
    return files


cpu_run, gpu_run, again_run = sys.argv[1:]
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
ok = (
    len(cpu) == len(gpu) > 0
    and result["largest_relative_difference"] < 1e-3
    and result["same_losses_twice"]
    and result["same_weights_twice"]
)
result["ok"] = ok
print(json.dumps(result))
sys.exit(0 if ok else 1)
