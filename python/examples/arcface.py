#!/usr/bin/env python3
"""ArcFace over many classes: the exact fused margin, beside the same loss in plain PyTorch.

    python arcface.py                        # 2,000 classes, half a minute
    python arcface.py --classes 100000 --width 512 --batch 256 --steps 1000

A class is a point of a sphere; its pictures are noisy views of it. A network maps a view to a
vector, and the loss scores the angle between this vector and the class's vector, with a margin on
the angle of the right class: the softmax of s cos(theta + m) against s cos(theta) of all others.
Prints both losses of each step's batch, the time of a step and the largest memory of the process.
"""
import argparse
import math
import resource
import time

import torch
import torch.nn.functional as F

import nine.torch


def fused(h, faces, person, margin, scale):
    """Never stores the batch times classes cosines."""
    return nine.torch.kernel_cross_entropy(
        scale * F.normalize(h), F.normalize(faces), person, head="lin", margin=f"arc:{margin}"
    )


def plain(h, faces, person, margin, scale):
    """The usual program of ArcFace: cos(theta + m), and cos(theta) - m sin(m) beyond pi - m."""
    cosine = F.normalize(h) @ F.normalize(faces).T
    right = cosine.gather(1, person[:, None])
    sine = (1 - right.square()).clamp_min(0).sqrt()
    moved = right * math.cos(margin) - sine * math.sin(margin)
    moved = torch.where(right > -math.cos(margin), moved, right - margin * math.sin(margin))
    return F.cross_entropy(scale * cosine.scatter(1, person[:, None], moved), person)


def main(arguments=None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, default=2_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--margin", type=float, default=0.5)
    parser.add_argument("--scale", type=float, default=16.0)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--loss", choices=["fused", "plain", "both"], default="both")
    options = parser.parse_args(arguments)

    torch.manual_seed(1)
    centres = torch.randn(options.classes, options.width)
    network = torch.nn.Sequential(
        torch.nn.Linear(options.width, 2 * options.width),
        torch.nn.ReLU(),
        torch.nn.Linear(2 * options.width, options.width),
    )
    faces = torch.nn.Parameter(torch.randn(options.classes, options.width))
    optimizer = torch.optim.Adam([*network.parameters(), faces], lr=options.lr)
    losses = {"fused": fused, "plain": plain}
    if options.loss != "both":
        losses = {options.loss: losses[options.loss]}
    seconds = dict.fromkeys(losses, 0.0)
    found = {name: [] for name in losses}
    for step in range(options.steps):
        person = torch.randint(options.classes, (options.batch,))
        view = centres[person] + 0.5 * torch.randn(options.batch, options.width)
        # The last one's gradients train: both are the same loss.
        for name, loss_of in losses.items():
            optimizer.zero_grad()
            begin = time.perf_counter()
            loss = loss_of(network(view), faces, person, options.margin, options.scale)
            loss.backward()
            seconds[name] += time.perf_counter() - begin
            found[name].append(loss.item())
        optimizer.step()
        if step % max(1, options.steps // 5) == 0 or step + 1 == options.steps:
            shown = "  ".join(f"{name} {values[-1]:.5f}" for name, values in found.items())
            print(f"step {step + 1:4}  {shown}")
    with torch.no_grad():
        person = torch.arange(min(options.classes, 1000))
        view = centres[person] + 0.5 * torch.randn(len(person), options.width)
        head = nine.torch.KernelSoftmax(options.width, options.classes, bias=False)
        head.weight.copy_(F.normalize(faces))
        _, best = head.topk(F.normalize(network(view)), 1)
        accuracy = float((best[:, 0] == person).float().mean())
    for name in losses:
        print(f"{name}: {1000 * seconds[name] / options.steps:.1f} ms a step")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"right at first: {100 * accuracy:.1f}% of new views; at most {peak:.0f} MiB of memory")
    return {"losses": found, "accuracy": accuracy}


if __name__ == "__main__":
    main()
