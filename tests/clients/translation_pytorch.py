#!/usr/bin/env python3
"""Translation models that PyTorch trained, opened as docs/pytorch.md says.

  translation_pytorch.py BIN

nn.Transformer with random weights, post-norm and pre-norm, with and without final norms, three kinds of positions, two factors of the
embeddings, float32 and float16: mt_translate --score-given scores as PyTorch does.

Exit 0 fine, 1 wrong, 77 skipped: PyTorch is not installed.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import safetensors.torch
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: PyTorch is not installed ({error})")
    sys.exit(77)

BIN = sys.argv[1]
SOURCE, TARGET = "der hund sah die katze .".split(), "the dog saw cat .".split()
SPECIALS, END = 4, 2
PAIRS = [
    ("der hund sah die katze .", "the dog saw the cat ."),
    ("", "."),
    ("katze", ""),
    ("die die die", "saw saw"),
]
LENGTH = 24


def interleaved(d):
    """The table of PyTorch's tutorial."""
    angles = torch.arange(LENGTH)[:, None] * torch.exp(
        torch.arange(0, d, 2) * (-math.log(10000.0) / d)
    )
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


def own(d):
    angles = torch.arange(LENGTH, dtype=torch.double)[:, None] * 10000.0 ** (
        -torch.arange(d // 2, dtype=torch.double) / (d // 2)
    )
    return torch.cat([angles.sin(), angles.cos()], 1).float()


class Translation(nn.Module):
    def __init__(self, d, heads, ffn, layers, norm, final_norms, table):
        super().__init__()
        self.src_embedding, self.tgt_embedding = nn.Embedding(
            len(SOURCE) + SPECIALS, d
        ), nn.Embedding(len(TARGET) + SPECIALS, d)
        self.transformer = nn.Transformer(
            d, heads, layers, layers, ffn, 0.0, norm_first=norm == "pre", batch_first=True
        )
        if not final_norms:
            self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.head = nn.Linear(d, len(TARGET) + SPECIALS)
        for p in self.parameters():
            nn.init.uniform_(p, -0.3, 0.3)
        self.register_buffer("positions", table)

    def log_p(self, source, target, scale):
        def embed(table, ids):
            return table(ids) * scale + self.positions[: ids.shape[1]]

        mask = nn.Transformer.generate_square_subsequent_mask(
            target.shape[1], dtype=self.positions.dtype
        )
        hidden = self.transformer(
            embed(self.src_embedding, source), embed(self.tgt_embedding, target), tgt_mask=mask
        )
        return torch.log_softmax(self.head(hidden), -1)


def ids(words, line):
    return [SPECIALS + words.index(word) for word in line.split()]


def check(norm, final_norms, positions, scale, dtype):
    label = f"{norm}, final norms {final_norms}, positions {positions}, scale {scale}, {dtype}"
    d = 32
    torch.manual_seed(5)
    table = {"tutorial": interleaved, "own": own, "learned": lambda d: torch.rand(LENGTH, d) - 0.5}[
        positions
    ](d)
    model = Translation(d, 4, 48, 2, norm, final_norms, table).eval()
    with tempfile.TemporaryDirectory() as directory:
        at = lambda name: os.path.join(directory, name)
        state = {name: x.to(dtype) for name, x in model.state_dict().items()}
        config = {"heads": 4, "norm": norm}
        if scale is not None:
            config["embed_scale"] = scale
        if positions == "own":
            del state["positions"]
            config["positions"] = "sinusoidal"
        safetensors.torch.save_file(state, at("model.safetensors"))
        model.load_state_dict({**state, "positions": state.get("positions", table)})
        model = model.double()
        for name, words in (("src.dict.txt", SOURCE), ("tgt.dict.txt", TARGET)):
            with open(at(name), "w") as file:
                file.writelines(f"{word} 1\n" for word in words)
        with open(at("config.json"), "w") as file:
            json.dump(config, file)
        for name, side in (("source", 0), ("target", 1)):
            with open(at(name), "w") as file:
                file.writelines(pair[side] + "\n" for pair in PAIRS)
        done = subprocess.run(
            [
                os.path.join(BIN, "mt_translate"),
                "--checkpoint",
                directory,
                "--input",
                at("source"),
                "--score-given",
                at("target"),
            ],
            text=True,
            capture_output=True,
        )
    if done.returncode != 0:
        sys.exit(f"{label}: {done.stderr}")
    if "assumed" not in done.stderr:
        sys.exit(f"{label}: nothing says what was assumed")
    for (source, target), printed in zip(PAIRS, done.stdout.splitlines(), strict=True):
        wanted = ids(TARGET, target) + [END]
        with torch.no_grad():
            log_p = model.log_p(
                torch.tensor([ids(SOURCE, source) + [END]]),
                torch.tensor([[END] + wanted[:-1]]),
                scale or math.sqrt(d),
            )[0]
        expected = log_p[range(len(wanted)), wanted].sum().item()
        if not abs(float(printed) - expected) < 1e-5 * max(1, abs(expected)):
            sys.exit(f"{label}: '{source}' to '{target}' has {printed}, PyTorch {expected}")


torch.set_num_threads(1)
for kind in ["tutorial", "own", "learned"]:
    for order, final in [("post", False), ("post", True), ("pre", True), ("pre", False)]:
        check(order, final, kind, None if kind != "learned" else 1.0, torch.float32)
check("post", True, "tutorial", 1.0, torch.float16)
check("pre", True, "learned", None, torch.bfloat16)
print("translation models of PyTorch agree")
