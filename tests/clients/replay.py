"""What the tests share that replay in PyTorch the steps of --export-parity: the modules of
docs/checkpoints.md, the optimisers, and reading and comparing.
"""
import json
import math
import os
import sys
import textwrap

import torch
from torch import nn
from torch.nn import functional as F


def code_of_page(*names):
    """What the indented blocks of docs/checkpoints.md define from these lines on."""
    page = os.path.join(os.path.dirname(__file__), "../../docs/checkpoints.md")
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    scope = {"torch": torch, "nn": nn, "F": F}
    for name in names:
        begin = lines.index("    " + name)
        end = begin + next(i for i, x in enumerate(lines[begin:]) if x and not x.startswith("    "))
        exec(textwrap.dedent("\n".join(lines[begin:end])), scope)
    return scope


GATED = {"swiglu": F.silu, "geglu": F.gelu}
ACTIVATIONS = {
    "relu": F.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    **GATED,
}


class Lion(torch.optim.Optimizer):
    """Chen et al. (2023)."""

    def __init__(self, parameters, lr, betas, weight_decay):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * torch.sign(beta1 * m + (1 - beta1) * p.grad))
                m.mul_(beta2).add_(p.grad, alpha=1 - beta2)


class Muon(torch.optim.Optimizer):
    """Jordan et al. (2024), with rates for AdamW's sizes (Liu et al., 2025). torch.optim.Muon
    computes in bfloat16."""

    def __init__(self, parameters, lr, momentum, weight_decay):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "wd": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                v = self.state[p].setdefault("v", torch.zeros_like(p))
                v.mul_(group["momentum"]).add_(p.grad)
                u = p.grad + group["momentum"] * v
                x = u / (u.norm() + 1e-7)
                for _ in range(5):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
                p.mul_(1 - group["lr"] * group["wd"])
                p.sub_(0.2 * math.sqrt(max(p.shape)) * group["lr"] * x)


def optimizers_of(config, model):
    """The optimisers of a config.json of --export-parity."""
    lr, betas, decay = config["lr"], tuple(config["betas"]), config.get("weight_decay", 0.0)
    kind, named = config["optimizer"], list(model.named_parameters())
    maps = [p for name, p in named if "layers" in name and p.dim() == 2]
    rest = [p for name, p in named if not ("layers" in name and p.dim() == 2)]
    adam = {"lr": lr, "betas": betas, "eps": config["eps"], "weight_decay": decay}
    if kind == "lion":
        return [Lion(model.parameters(), lr, betas, decay)]
    if kind == "muon":
        return [Muon(maps, lr, config["momentum"], decay), torch.optim.AdamW(rest, **adam)]
    return [{"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](maps + rest, **adam)]


def read_safetensors(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(size)), bytearray(file.read())
    types = {"F64": torch.float64, "F32": torch.float32, "I32": torch.int32}
    return {
        name: torch.frombuffer(
            data, dtype=types[t["dtype"]], offset=t["data_offsets"][0], count=math.prod(t["shape"])
        ).reshape(t["shape"])
        for name, t in header.items()
        if name != "__metadata__"
    }


class Export:
    """The files that --export-parity wrote to a directory."""

    def __init__(self, directory):
        at = lambda name: os.path.join(directory, name)
        self.initial, self.final, self.batches = (
            read_safetensors(at(f"{x}.safetensors")) for x in ("init", "final", "batches")
        )
        with open(at("config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        with open(at("losses.json"), encoding="utf-8") as file:
            self.losses = json.load(file)


def close(name, found, expected, limit):
    found, expected = (torch.as_tensor(x, dtype=torch.float64) for x in (found, expected))
    off, top = (found - expected).abs().max().item(), max(1e-3, expected.abs().max().item())
    if not off <= limit * top:
        sys.exit(f"{name}: off by {off:g} of {top:g}")


def replay(label, export, model, loss_of):
    """Makes the export's steps with `model` and loss_of(step), and compares losses, norms of
    gradients and final weights."""
    optimizers = optimizers_of(export.config, model)
    losses = export.losses
    for step, rate in enumerate(losses["lr"]):
        model.zero_grad()
        loss = loss_of(step)
        loss.backward()
        clip = export.config["clip"] or math.inf
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
        close(f"{label} step {step} loss", losses["loss"][step], loss.item(), 1e-10)
        close(f"{label} step {step} gradient norm", losses["grad_norm"][step], norm.item(), 1e-10)
    own = model.state_dict()
    for name, x in export.final.items():
        if name == "positions":  # a translation model's table
            continue
        wanted = own[name].clone()
        # The bias of plain attention's keys has no gradient but rounding errors, which Adam turns
        # into steps.
        plain = "multihead_attn" in name or export.config.get("positions") != "rotary"
        if name.endswith("in_proj_bias") and plain and not export.config.get("qk_norm"):
            width = wanted.numel() - export.config["hidden" if "hidden" in export.config else "dim"]
            size = width // 2
            begin = wanted.numel() - width
            wanted[begin : begin + size] = x[begin : begin + size]
        close(f"{label} {name}", x, wanted, 1e-8)
