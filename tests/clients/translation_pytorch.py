#!/usr/bin/env python3
"""Translation models against PyTorch.

  translation_pytorch.py BIN

1. Models that PyTorch trained, opened as docs/pytorch.md says: nn.Transformer with random weights,
   post-norm and pre-norm, with and without final norms, three kinds of positions, two factors of
   the embeddings, float32 and float16: mt_translate --score-given scores as PyTorch does.
2. mt_train --export-parity: its 20 steps again in float64, with autograd and PyTorch's optimisers,
   or with lion or muon. The layers are modules of this file, of the options that
   torch.nn.Transformer does not have.
3. A checkpoint of mt_train with these layers: the modules score a pair as mt_translate does.

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
    from torch.nn import functional as F
except ImportError as error:
    print(f"skipped: PyTorch is not installed ({error})")
    sys.exit(77)

from replay import ACTIVATIONS, GATED, Export, close, code_of_page, read_safetensors, replay

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


class Attention(code_of_page("class Attention(nn.Module):")["Attention"]):
    """The page's, from words to a memory too. `base`: of rotary positions; None without them."""

    def forward(self, x, memory, seen):
        weights, biases = self.in_proj_weight.split(self.parts), [None] * 3
        if self.in_proj_bias is not None:
            biases = self.in_proj_bias.split(self.parts)
        inputs = (x, memory, memory)
        q, k, v = (
            F.linear(y, w, b).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for y, w, b in zip(inputs, weights, biases)
        )
        q, k = self.q_norm(q), self.k_norm(k)
        if self.base is not None:
            q, k = self.rotated(q), self.rotated(k)
        y = F.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True)
        return self.out_proj(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of either side, with the names of nn.Transformer's layers; a decoder's attends to a
    memory."""

    def __init__(self, c, decodes):
        super().__init__()
        d, heads, bias, eps = c["dim"], c["heads"], c["linear_bias"], c["layer_norm_eps"]
        norm = nn.RMSNorm if c["norm_type"] == "rms" else nn.LayerNorm
        attention = (d, heads, c["kv_heads"] or heads, bias, c["qk_norm"])
        self.pre, self.activation = c["norm"] == "pre", ACTIVATIONS[c["activation"]]
        rotary = c["rotary_base"] if c["positions"] == "rotary" else None
        self.self_attn = Attention(*attention, rotary)
        self.multihead_attn = Attention(*attention, None) if decodes else None
        self.linear1, self.linear2 = nn.Linear(d, c["ffn"], bias), nn.Linear(c["ffn"], d, bias)
        self.linear3 = nn.Linear(d, c["ffn"], bias) if c["activation"] in GATED else None
        self.norm1, self.norm2 = norm(d, eps=eps), norm(d, eps=eps)
        self.norm3 = norm(d, eps=eps) if decodes else None

    def branch(self, x, norm, f):
        return x + f(norm(x)) if self.pre else norm(x + f(x))

    def feed_forward(self, x):
        inner = self.activation(self.linear1(x))
        return self.linear2(inner if self.linear3 is None else inner * self.linear3(x))

    def forward(self, x, seen, memory=None, memory_seen=None):
        x = self.branch(x, self.norm1, lambda y: self.self_attn(y, y, seen))
        if memory is not None:
            x = self.branch(x, self.norm2, lambda y: self.multihead_attn(y, memory, memory_seen))
        return self.branch(x, self.norm2 if memory is None else self.norm3, self.feed_forward)


class Modern(nn.Module):
    """A translation model of mt_train's config.json."""

    USUAL = {
        "activation": "relu",
        "positions": "sinusoidal",
        "rotary_base": 10000.0,
        "norm_type": "layer",
        "kv_heads": 0,
        "qk_norm": False,
        "layer_norm_eps": 1e-5,
        "linear_bias": True,
    }

    def __init__(self, config, table):
        super().__init__()
        c = self.c = {**self.USUAL, **config}
        d = c["dim"]
        norm = nn.RMSNorm if c["norm_type"] == "rms" else nn.LayerNorm
        self.tgt_embedding = nn.Embedding(c["tgt_vocab"], d)
        self.src_embedding = (
            self.tgt_embedding if c["shared_vocab"] else nn.Embedding(c["src_vocab"], d)
        )
        self.transformer = nn.Module()
        for side, layers in (("encoder", c["encoder_layers"]), ("decoder", c["decoder_layers"])):
            part = nn.Module()
            part.layers = nn.ModuleList(Layer(c, side == "decoder") for _ in range(layers))
            part.norm = norm(d, eps=c["layer_norm_eps"]) if c["norm"] == "pre" else nn.Identity()
            setattr(self.transformer, side, part)
        self.head = nn.Linear(d, c["tgt_vocab"], c["head_bias"])
        if c["tie_embeddings"]:
            self.head.weight = self.tgt_embedding.weight
        self.table = table

    def embed(self, embedding, ids):
        x = embedding(ids) * self.c["embed_scale"]
        return x if self.table is None else x + self.table[: ids.shape[1]]

    def forward(self, source, target):
        words = (source != self.c["pad"])[:, None, None, :]
        x = self.embed(self.src_embedding, source)
        for layer in self.transformer.encoder.layers:
            x = layer(x, words)
        memory, y = self.transformer.encoder.norm(x), self.embed(self.tgt_embedding, target)
        earlier = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
        seen = earlier & (target != self.c["pad"])[:, None, None, :]
        for layer in self.transformer.decoder.layers:
            y = layer(y, seen, memory, words)
        return self.head(self.transformer.decoder.norm(y))


def modern_of(config, tensors):
    tensors = dict(tensors)
    table = tensors.pop("positions", None)
    model = Modern(config, table).double().train()
    missing, unknown = model.load_state_dict(tensors, strict=False)
    tied = {"head.weight"} if config["tie_embeddings"] else set()
    if config["shared_vocab"]:
        tied.add("src_embedding.weight")
    if unknown or set(missing) - tied:
        sys.exit(f"names differ: missing {missing}, unknown {unknown}")
    return model


SMALL = (
    "--sample --sample-pairs 400 --layers 2 --hidden 24 --heads 4 --ffn 40 --dropout 0 "
    "--dtype float64 --batch-tokens 160"
).split()


def train(*options):
    done = subprocess.run(
        [os.path.join(BIN, "mt_train"), *SMALL, *options], text=True, capture_output=True
    )
    if done.returncode != 0:
        sys.exit(f"mt_train {' '.join(options)}: {done.stderr}")


def check_replay(*options):
    label = "replay " + " ".join(options)
    with tempfile.TemporaryDirectory() as directory:
        train(
            *("--lr 0.01 --warmup 8 --clip 0.5 --export-steps 20 --export-parity").split(),
            directory,
            *options,
        )
        export = Export(directory)
    c = export.config
    model = modern_of(c, export.initial)

    def loss_of(step):
        source, target, wanted = (
            export.batches[f"{key}.{step}"].long() for key in ("src", "tgt_in", "tgt_out")
        )
        return F.cross_entropy(
            model(source, target).flatten(0, 1),
            wanted.flatten(),
            ignore_index=c["pad"],
            label_smoothing=c["label_smoothing"],
        )

    replay(label, export, model, loss_of)


def check_own_checkpoint(*options):
    with tempfile.TemporaryDirectory() as directory:
        run = os.path.join(directory, "run")
        train("--run", run, "--after", "20u", *options)
        best = os.path.join(run, "checkpoints", "best")
        with open(os.path.join(best, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        ids = {}
        for side in ("src", "tgt"):
            with open(os.path.join(best, f"{side}.dict.txt"), encoding="utf-8") as file:
                words = [line.split()[0] for line in file]
            ids[side] = {word: SPECIALS + i for i, word in enumerate(words)}
        sentences = {side: list(ids[side])[:5] for side in ids}
        for side, words in sentences.items():
            with open(os.path.join(directory, side), "w", encoding="utf-8") as file:
                file.write(" ".join(words) + "\n")
        printed = subprocess.run(
            [os.path.join(BIN, "mt_translate"), "--checkpoint", best]
            + ["--input", os.path.join(directory, "src")]
            + ["--score-given", os.path.join(directory, "tgt")],
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        model = modern_of(config, read_safetensors(os.path.join(best, "model.safetensors")))
    source, wanted = ([ids[side][w] for w in sentences[side]] + [END] for side in ("src", "tgt"))
    with torch.no_grad():
        log_p = torch.log_softmax(
            model(torch.tensor([source]), torch.tensor([[END] + wanted[:-1]]))[0], -1
        )
    found = log_p[range(len(wanted)), wanted].sum().item()
    close("mt_train's checkpoint " + " ".join(options), float(printed), found, 1e-9)


torch.set_num_threads(1)
for kind in ["tutorial", "own", "learned"]:
    for order, final in [("post", False), ("post", True), ("pre", True), ("pre", False)]:
        check(order, final, kind, None if kind != "learned" else 1.0, torch.float32)
check("post", True, "tutorial", 1.0, torch.float16)
check("pre", True, "learned", None, torch.bfloat16)
MODERN = "--positions rotary --norm pre --norm-type rms --activation swiglu --no-linear-bias"
for replayed in [
    "",
    "--norm pre --activation gelu",
    "--positions rotary --rotary-base 50",
    "--norm-type rms --activation silu",
    "--norm pre --norm-type rms --activation geglu --layer-norm-eps 1e-6",
    "--kv-heads 2 --activation gelu-tanh",
    "--qk-norm --norm post --no-linear-bias",
    "--shared-vocab --positions rotary --kv-heads 1 --qk-norm",
    MODERN,
    f"{MODERN} --kv-heads 2 --qk-norm --no-tie-embeddings",
    f"{MODERN} --optimizer adamw --weight-decay 0.1",
    f"{MODERN} --optimizer muon --weight-decay 0.1",
    "--optimizer lion --weight-decay 0.1 --label-smoothing 0",
]:
    check_replay(*replayed.split())
check_own_checkpoint(*MODERN.split(), "--kv-heads", "2", "--qk-norm")
check_own_checkpoint("--norm-type", "rms", "--kv-heads", "1")
print("translation models agree with PyTorch")
