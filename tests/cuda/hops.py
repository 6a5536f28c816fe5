#!/usr/bin/env python3
"""Checkpoints between devices: what a run on a GPU promises when it goes on.

  hops.py LM_TRAIN FOLDER FLAGS...    FLAGS are of a small model, without --after, --device and --run

1. A run that stops after 50 updates and goes on to 100 has the bits of one that did not stop.
2. From one checkpoint of the GPU, the CPU and the GPU train on, and from the CPU's both again: the
   first loss is the same up to rounding.
3. A run does not go on silently on another device, nor with other settings of the environment that
   change bits; it does with --other-gpu.

Prints a JSON line, and exits with 1 if any of it does not hold.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys

CLOSE = 1e-4  # relative, of a loss whose products are float32 on both devices


def digests(folder):
    files = {}
    for name in ("model.safetensors", "optimizer.safetensors"):
        with open(os.path.join(folder, name), "rb") as file:
            files[name] = hashlib.sha256(file.read()).hexdigest()
    return files


def first_loss(run):
    with open(os.path.join(run, "log.jsonl")) as log:
        return next(e["loss"] for e in map(json.loads, log) if e["event"] == "train")


def main():
    program, folder, *flags = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)

    def train(run, updates, device, *more, **environment):
        words = [program, *flags, "--run", os.path.join(folder, run), "--after", f"{updates}u"]
        words += ["--device", device] if device != "cpu" else []
        done = subprocess.run(
            [*words, *more],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        if done.returncode not in (0, 2):
            sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")
        return done

    def started(run, updates, device, *more):
        done = train(run, updates, device, *more)
        if done.returncode != 0:
            sys.exit(done.stderr)

    def checkpoint(run, updates):
        return os.path.join(folder, run, "checkpoints", f"{updates:08}")

    result = {}
    started("whole", 100, "cuda")
    started("halves", 50, "cuda")
    kept = os.path.join(folder, "kept")
    shutil.copytree(checkpoint("halves", 50), kept)
    started("halves", 100, "cuda")
    result["same_bits_resumed"] = digests(checkpoint("whole", 100)) == digests(
        checkpoint("halves", 100)
    )

    losses = {}
    for device in ("cpu", "cuda"):
        started(f"from-gpu-{device}", 10, device, "--init", kept)
        losses[f"gpu to {device}"] = first_loss(os.path.join(folder, f"from-gpu-{device}"))
    for device in ("cpu", "cuda"):
        begun = checkpoint("from-gpu-cpu", 10)
        started(f"from-cpu-{device}", 10, device, "--init", begun)
        losses[f"gpu to cpu to {device}"] = first_loss(os.path.join(folder, f"from-cpu-{device}"))
    result["first_losses"] = losses
    for end in ("gpu to ", "gpu to cpu to "):
        a, b = losses[end + "cpu"], losses[end + "cuda"]
        result[f"{end}both: relative difference"] = abs(a - b) / abs(a)
    result["losses_agree"] = all(v < CLOSE for k, v in result.items() if k.endswith("difference"))

    refused = train("whole", 110, "cpu")
    result["another_device_refused"] = refused.returncode == 2 and "device" in refused.stderr
    other = {"NVIDIA_TF32_OVERRIDE": "0"}
    refused = train("whole", 110, "cuda", **other)
    result["other_settings_refused"] = (
        refused.returncode == 2 and "NVIDIA_TF32_OVERRIDE" in refused.stderr
    )
    result["other_settings_when_told"] = (
        train("whole", 110, "cuda", "--other-gpu", **other).returncode == 0
    )
    result["ok"] = all(v for v in result.values() if isinstance(v, bool))
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
