#!/usr/bin/env python3
"""Compares the logs of three runs of lm_train from one seed: the CPU, a card, the card again.

usage: compare_runs.py CPU CARD AGAIN

The card must follow the CPU within the growth of float32 rounding (losses within 1e-3 of each other at every update, relative),
and do the same twice to the last bit: losses, and the weights of the last checkpoint. Writes compared-NAME.json beside the runs.
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
                files[os.path.relpath(path, run)] = hashlib.sha256(open(path, "rb").read()).hexdigest()
    return files


cpu_run, card_run, again_run = sys.argv[1:]
cpu, card, again = losses(cpu_run), losses(card_run), losses(again_run)
apart = [abs(a - b) / abs(a) for a, b in zip(cpu, card)]
result = {
    "runs": [os.path.basename(r) for r in (cpu_run, card_run, again_run)],
    "updates": len(cpu),
    "first_relative_difference": apart[0] if apart else None,
    "largest_relative_difference": max(apart, default=None),
    "last_loss": [cpu[-1], card[-1]] if cpu and card else None,
    "same_losses_twice": card == again,
    "same_weights_twice": bool(weights(card_run)) and weights(card_run) == weights(again_run),
}
ok = len(cpu) == len(card) > 0 and result["largest_relative_difference"] < 1e-3 and result["same_losses_twice"] and result["same_weights_twice"]
result["ok"] = ok
name = os.path.basename(card_run)
with open(os.path.join(os.path.dirname(card_run) or ".", f"compared-{name}.json"), "w") as f:
    json.dump(result, f)
print(json.dumps(result))
sys.exit(0 if ok else 1)
