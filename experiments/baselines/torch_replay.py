#!/usr/bin/env python3
"""Replays the steps that `lm_train` or `mt_train --export-parity DIR` wrote, in PyTorch, and
compares.

The same weights, the same batches: the loss, the gradient norm before clipping and the final
weights must be those of the export. Prints one JSON line with the largest relative differences (of
the weights: the norm of the difference over the norm, all parameters together). Exits with 1 when a
loss or a gradient norm differs by more than --tolerance, the weights of a language model by more
than 100 times that, or the export has fewer steps than --steps. The bias of an attention's keys has
no gradient but rounding errors, which Adam turns into steps: of a Transformer language model it is
left out, and a translation model's weights are reported only.
"""

import argparse
import json
import math
import pathlib
import sys

import torch
from safetensors.torch import load_file

import common


class Export:
    """The files of an export: README.md says what each holds."""

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.config = json.loads((directory / "config.json").read_text())
        if {"margin", "word_norm", "context_norm"} & self.config.keys():
            sys.exit(
                f"{directory} has a margin or norms, which tests/clients/margins_pytorch.py replays"
            )
        c = self.config
        plain = {
            "norm_type": "layer",
            "qk_norm": False,
            "layer_norm_eps": 1e-5,
            "linear_bias": True,
            "optimizer": "adam",
        }
        activations = ("relu",) if c["task"] == "mt" else tuple(common.ACTIVATIONS)
        if (
            {"weight_decay", "momentum", "class_weights", "kv_heads"} & c.keys()
            or any(c.get(key, value) != value for key, value in plain.items())
            or c.get("positions") == "rotary"
            or c.get("activation", "relu") not in activations
        ):
            other = "translation" if c["task"] == "mt" else "transformer_lm"
            sys.exit(
                f"{directory} has a style, an optimizer or weights that "
                f"tests/clients/{other}_pytorch.py replays"
            )
        self.losses = json.loads((directory / "losses.json").read_text())
        self.initial, self.final, self.batches = (
            load_file(directory / f"{name}.safetensors") for name in ("init", "final", "batches")
        )
        self.dtype = getattr(torch, self.config["dtype"])


def head_of(config):
    return {
        "kind": config["head"],
        "bias": config["head_bias"],
        "components": config["components"],
        "untied": config["untied"],
    }


class LanguageModelReplay:
    def __init__(self, export):
        c = export.config
        self.model = common.LanguageModel(
            c["vocab"], c["dim"], c["hidden"], c["layers"], **head_of(c)
        )
        if c["tie_embeddings"]:
            self.model.head.weight = self.model.embedding.weight
        self.batches, self.ignore, self.state = export.batches, c["ignore"], None

    def loss(self, i):
        words, target = (self.batches[key][i].long() for key in ("input", "target"))
        rows, state = self.model(words, self.state)
        self.state = tuple(s.detach() for s in state)
        return common.word_loss(self.model.head, rows, target, self.ignore)


def paired_sinusoids(length, dim):
    """A Transformer language model's fixed positions: frequencies 10000^(-2i/dim), the sines before
    the cosines."""
    frequencies = 10000.0 ** (-torch.arange(dim // 2, dtype=torch.float64) / (dim // 2))
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1)


class TransformerReplay:
    """Windows of their own: nothing is carried."""

    def __init__(self, export):
        c = export.config
        fixed = (
            paired_sinusoids(c["window"], c["dim"]).to(export.dtype)
            if c["positions"] == "sinusoidal"
            else None
        )
        self.model = common.TransformerLanguageModel(
            c["vocab"],
            c["dim"],
            c["layers"],
            c["heads"],
            c["ffn"],
            c["window"],
            c["activation"],
            fixed,
            norm=c.get("norm", "pre"),
            **head_of(c),
        )
        if c["tie_embeddings"]:
            self.model.head.weight = self.model.embedding.weight
        self.batches, self.ignore = export.batches, c["ignore"]

    def loss(self, i):
        words, target = (self.batches[key][i].long() for key in ("input", "target"))
        return common.word_loss(self.model.head, self.model(words), target, self.ignore)


class TranslationReplay:
    def __init__(self, export):
        c = self.config = export.config
        self.model = common.TranslationModel(
            c,
            export.initial["positions"].to(export.dtype),
            c["embed_scale"],
            pre_norm=c["norm"] == "pre",
            final_norms="transformer.encoder.norm.weight" in export.initial,
            pad=c["pad"],
            **head_of(c),
        )
        if c["tie_embeddings"]:
            self.model.head.weight = self.model.tgt_embedding.weight
        if c["shared_vocab"]:
            self.model.src_embedding.weight = self.model.tgt_embedding.weight
        self.batches = export.batches

    def loss(self, i):
        c = self.config
        source, target, wanted = (
            self.batches[f"{key}.{i}"].long() for key in ("src", "tgt_in", "tgt_out")
        )
        rows = self.model(source, target)
        return common.smoothed_loss(
            self.model.head, rows, wanted, c["pad"], c["label_smoothing"], c["smoothing"]
        )


def load(model, tensors, dtype):
    """Gives the model the export's weights. Of parameters that are one matrix under two names the
    export has one name."""
    names = {id(p): [] for p in model.parameters()}
    for name, p in model.named_parameters(remove_duplicate=False):
        names[id(p)].append(name)
    known = {name for group in names.values() for name in group}
    unknown = set(tensors) - known - {"positions"}
    missing = [group for group in names.values() if not any(name in tensors for name in group)]
    if unknown or missing:
        sys.exit(f"init.safetensors does not fit: unknown {sorted(unknown)}, missing {missing}")
    model.load_state_dict({k: v.to(dtype) for k, v in tensors.items() if k in known}, strict=False)


def difference(ours, theirs):
    if not (math.isfinite(ours) and math.isfinite(theirs)):
        return math.inf
    return abs(ours - theirs) / max(abs(ours), 1e-12)


def replay(export):
    """Makes the export's steps; returns the largest difference of losses, gradient norms and final
    weights."""
    c = export.config
    kind = (
        TransformerReplay
        if c.get("arch") == "transformer"
        else {"lm": LanguageModelReplay, "mt": TranslationReplay}[c["task"]]
    )
    task = kind(export)
    model = task.model.to(export.dtype).train()
    load(model, export.initial, export.dtype)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=c["lr"], betas=tuple(c["betas"]), eps=c["eps"]
    )
    worst = {"loss": 0.0, "grad_norm": 0.0}
    seen = export.losses
    rates = seen.get("lr") or [c["lr"]] * len(seen["loss"])
    for i, rate in enumerate(rates):
        optimizer.zero_grad()
        loss = task.loss(i)
        loss.backward()
        norm = common.clip_gradients(list(model.parameters()), c["clip"])
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        worst["loss"] = max(worst["loss"], difference(loss.item(), seen["loss"][i]))
        worst["grad_norm"] = max(worst["grad_norm"], difference(norm, seen["grad_norm"][i]))
    parameters = dict(model.named_parameters(remove_duplicate=False))
    error = size = 0.0
    for name, wanted in export.final.items():
        if name != "positions":
            off = wanted.double() - parameters[name].detach().double()
            if c["task"] == "lm" and name.endswith("self_attn.in_proj_bias"):
                off[len(off) // 3 : 2 * len(off) // 3] = 0  # the keys'
            error += off.square().sum().item()
            size += wanted.double().square().sum().item()
    worst["weights"] = math.sqrt(error / size)
    return worst


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    p.add_argument("directory", help="an export")
    p.add_argument(
        "--tolerance",
        type=float,
        help="largest relative difference; 1e-5 for float32 and 1e-10 for float64 when not given",
    )
    p.add_argument("--steps", type=int, default=20, help="how many the export must have at least")
    p.add_argument("--threads", type=int, default=2, help="of PyTorch's operations")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    export = Export(o.directory)
    worst = replay(export)
    tolerance = o.tolerance or (1e-10 if export.dtype == torch.float64 else 1e-5)
    held = [worst["loss"], worst["grad_norm"]]
    if export.config["task"] == "lm":
        held.append(worst["weights"] / 100)
    steps = len(export.losses["loss"])
    ok = all(x <= tolerance for x in held) and math.isfinite(worst["weights"]) and steps >= o.steps
    common.print_json(steps=steps, ok=ok, **{name: float(f"{x:.3g}") for name, x in worst.items()})
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
