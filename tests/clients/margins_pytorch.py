#!/usr/bin/env python3
"""Margins and norms (docs/margins.md) against plain PyTorch: formulas and autograd alone.

  margins_pytorch.py BIN

1. kernel_inspect: loss, nll and every gradient of random heads, in float64. 2. lm_train and
lm_score: a trained checkpoint, opened in PyTorch, gives every token's log-probability. 3. lm_train
--export-parity: its steps again, with autograd and Adam by its formula: losses, gradient norms,
weights,
   the contexts' largest norm.

Exit 0 fine, 1 wrong, 77 skipped: PyTorch is not installed.
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError as error:
    print(f"skipped: PyTorch is not installed ({error})")
    sys.exit(77)

torch.set_default_dtype(torch.float64)
BIN = sys.argv[1]


def psi(margin, c):
    """psi(c) by the angle itself."""
    kind, _, m = margin.partition(":")
    if kind == "none":
        return c
    m = float(m)
    theta = torch.arccos(c)
    if kind == "cos":
        return c - m
    if kind == "arc":
        return torch.where(theta > math.pi - m, c - m * math.sin(m), torch.cos(theta + m))
    k = torch.clamp(torch.floor(theta * m / math.pi), max=m - 1).detach()
    return (1 - 2 * (k % 2)) * torch.cos(m * theta) - 2 * k


def word_norms(name, w, counts):
    """F of each word."""
    if name == "none":
        return w.norm(dim=1)
    through, name = name.endswith(":through"), name.removesuffix(":through")
    v = len(counts)
    if name.startswith("const:"):
        return torch.full((v,), float(name[6:]))
    order = sorted(range(v), key=lambda i: -counts[i])
    rank = torch.tensor([order.index(i) + 1.0 for i in range(v)])
    c = torch.clamp(torch.tensor(counts, dtype=torch.float64), min=1)
    if name.startswith("unigram:"):
        a, b = map(float, name[8:].split(","))
        return a * c / c.sum() + b
    if name == "log-unigram":
        return torch.log(c)
    first = w[order[0]].norm()
    ratio = {
        "uniform": torch.ones(v),
        "log-rank": torch.log(v - rank + 1) / math.log(v),
        "log-rank:ratio": 1 - torch.log(rank) / math.log(v),
        "log-unigram:scaled": torch.log(c) / math.log(max(2, max(counts))),
    }[name]
    return ratio * (first if through else first.detach())


def context_norms(name, h, counted):
    """G of each row."""
    if name == "none":
        return h.norm(dim=1)
    if name.startswith("const:"):
        return torch.full((len(h),), float(name[6:]))
    largest = h.norm(dim=1)[counted].max()
    return (largest if name.endswith(":through") else largest.detach()).expand(len(h))


def scores(w, h, f, g, b):
    c = (h / h.norm(dim=1, keepdim=True)) @ (w / w.norm(dim=1, keepdim=True)).T
    return c, g[:, None] * f[None, :] * c + b


def head(options, counts, h, w, b, m, c, targets):
    """Loss and nll of a single lin, or with m (d, K) and c (K, d, d) of a mixture."""
    rows = torch.tensor([i for i, y in enumerate(targets) if y >= 0])
    y = torch.tensor([t for t in targets if t >= 0])
    plain, with_margin = [], []
    for k in range(1 if m is None else m.shape[1]):
        context = h if m is None else torch.tanh(h @ c[k])
        f = word_norms(options["word_norm"], w, counts)
        g = context_norms(options["context_norm"], context, rows)
        cosine, s = scores(w, context, f, g, b)
        s, cosine, g = s[rows], cosine[rows], g[rows]
        own = torch.arange(len(rows))
        t = s.clone()
        t[own, y] = f[y] * g * psi(options["margin"], cosine[own, y]) + b[y]
        plain.append(torch.log_softmax(s, 1))
        with_margin.append(torch.log_softmax(t, 1))
    log_pi = torch.zeros(len(rows), 1) if m is None else torch.log_softmax((h @ m)[rows], 1)

    def mixed(parts):
        return torch.logsumexp(torch.stack(parts, 1) + log_pi[:, :, None], 1)

    log_p, own = mixed(with_margin), torch.arange(len(rows))
    e = options.get("label_smoothing", 0)
    loss = -((1 - e) * log_p[own, y] + e * log_p.mean(1)).mean()
    nll = torch.zeros(len(targets)).index_put((rows,), -mixed(plain)[own, y])
    return loss, nll


def close(name, found, expected, limit):
    off = (torch.as_tensor(found) - expected).abs().max().item()
    top = max(1e-3, expected.abs().max().item())
    if not off < limit * top:
        sys.exit(f"{name}: off by {off:g} of {top:g}")


def check_kernel_inspect():
    margins = ["none", "cos:0.3", "arc:0.5", "arc:2.5", "lsm:2", "lsm:5"]
    words = [
        "none",
        "const:2",
        "uniform",
        "uniform:through",
        "log-rank:through",
        "log-rank:ratio",
        "unigram:3,0.5",
        "log-unigram",
        "log-unigram:scaled:through",
    ]
    contexts = ["none", "const:3", "max", "max:through"]
    generator = random.Random(1)
    cases = [(a, b, c, k) for a in margins for b in words for c in contexts for k in (0, 2)]
    for margin, word, context, k in generator.sample(cases, 60):
        n, v, d = 7, 9, 4
        number = lambda *shape: torch.tensor(
            [generator.gauss(0, 1) for _ in range(math.prod(shape))]
        ).reshape(shape)
        options = {
            "margin": margin,
            "word_norm": word,
            "context_norm": context,
            "label_smoothing": generator.choice([0, 0.1]),
        }
        counts = [generator.randrange(0, 40) for _ in range(v)]
        arrays = {"H": number(n, d), "W": number(v, d), "b": number(v)}
        if k:
            arrays.update({"M": number(d, k), "C": number(k, d, d)})
        targets = [generator.randrange(-1, v) for _ in range(n - 1)] + [2]
        request = {
            "head": f"mix:{k}*lin" if k else "lin",
            "options": options,
            **({} if word in ("none", "const:2") else {"counts": counts}),
            "targets": targets,
            **{name: x.tolist() for name, x in arrays.items()},
        }
        answer = json.loads(
            subprocess.run(
                [os.path.join(BIN, "kernel_inspect"), "--input", "-"],
                check=True,
                text=True,
                input=json.dumps(request),
                capture_output=True,
            ).stdout
        )
        for x in arrays.values():
            x.requires_grad_()
        loss, nll = head(options, counts, *(arrays.get(x) for x in "HWbMC"), targets)
        loss.backward()
        label = f"{request['head']} {options}"
        close(f"{label} loss", answer["loss"], loss.detach(), 1e-11)
        close(f"{label} nll", answer["nll"], nll.detach(), 1e-11)
        for name, x in arrays.items():
            close(f"{label} d/d{name}", answer["grad"][name], x.grad, 1e-9)


def read_safetensors(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(size)), bytearray(file.read())
    types = {"F64": torch.float64, "F32": torch.float32, "I32": torch.int32}
    return {
        name: torch.frombuffer(
            data, dtype=types[t["dtype"]], offset=t["data_offsets"][0], count=math.prod(t["shape"])
        )
        .reshape(t["shape"])
        .double()
        for name, t in header.items()
        if name != "__metadata__"
    }


def check_trained(word, context):
    lines = ["the old king was here .", "", "a cat saw the dog"]
    with tempfile.TemporaryDirectory() as directory:
        run = os.path.join(directory, "run")
        subprocess.run(
            [
                os.path.join(BIN, "lm_train"),
                "--sample",
                "--sample-sentences",
                "300",
                "--layers",
                "1",
                "--hidden",
                "12",
                "--embed",
                "12",
                "--batch",
                "6",
                "--bptt",
                "9",
                "--after",
                "30u",
                "--dtype",
                "float64",
                "--margin",
                "arc:0.1",
                "--word-norm",
                word,
                "--context-norm",
                context,
                "--run",
                run,
            ],
            check=True,
            capture_output=True,
        )
        found = subprocess.run(
            [os.path.join(BIN, "lm_score"), "--checkpoint", run, "--tokens"],
            check=True,
            text=True,
            input="\n".join(lines) + "\n",
            capture_output=True,
        ).stdout.split("\n")
        best = os.path.join(run, "checkpoints", "best")
        t = read_safetensors(os.path.join(best, "model.safetensors"))
        with open(os.path.join(best, "dict.txt")) as file:
            ids = {line.split()[0]: i + 2 for i, line in enumerate(file)}
    lstm = torch.nn.LSTM(12, 12)
    lstm.load_state_dict({name[5:]: x for name, x in t.items() if name.startswith("lstm.")})
    counts = t["head.counts"].tolist() if "head.counts" in t else None
    f = word_norms(word, t["head.weight"], counts or [1] * len(t["head.bias"]))
    for line, numbers in zip(lines, found):
        targets = [ids.get(x, 1) for x in line.split()] + [0]
        h = lstm(t["embedding.weight"][[0] + targets[:-1]][:, None])[0][:, 0]
        largest = t.get("head.context_max", t.get("head.context_max_ema"))
        g = h.norm(dim=1) if largest is None else largest.expand(len(h))
        log_p = torch.log_softmax(scores(t["head.weight"], h, f, g, t["head.bias"])[1], 1)
        close(
            f"lm_score {word} {context}: {line}",
            [float(x) for x in numbers.split()],
            log_p[range(len(targets)), targets].detach(),
            1e-9,
        )


def adam(parameters, moments, step, config):
    """One update by the formula, with clipping; returns the gradient's norm."""
    norm = math.sqrt(sum(float((p.grad**2).sum()) for p in parameters))
    factor = min(1, config["clip"] / (norm + 1e-6)) if config["clip"] else 1
    (b1, b2), lr = config["betas"], config["lr"]
    with torch.no_grad():
        for p, (m, v) in zip(parameters, moments):
            g = factor * p.grad
            m.mul_(b1).add_((1 - b1) * g)
            v.mul_(b2).add_((1 - b2) * g * g)
            p -= lr * m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + config["eps"])
            p.grad = None
    return norm


def check_replay(*options):
    """Steps of training with carried state, for a single lin or a mixture of lin with contexts."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(
            [
                os.path.join(BIN, "lm_train"),
                "--sample",
                "--sample-sentences",
                "300",
                "--layers",
                "1",
                "--hidden",
                "12",
                "--embed",
                "12",
                "--batch",
                "6",
                "--bptt",
                "9",
                "--dtype",
                "float64",
                "--dropout",
                "0",
                "--lr",
                "0.01",
                "--clip",
                "0.3",
                "--export-parity",
                directory,
                "--export-steps",
                "12",
                *options,
            ],
            check=True,
            capture_output=True,
        )
        at = lambda name: os.path.join(directory, name)
        initial, final, batches = (
            read_safetensors(at(f"{x}.safetensors")) for x in ("init", "final", "batches")
        )
        with open(at("config.json")) as file:
            config = json.load(file)
        with open(at("losses.json")) as file:
            losses = json.load(file)
    given = {key: config.get(key, "none") for key in ("margin", "word_norm", "context_norm")}
    if all(value == "none" for value in given.values()):
        sys.exit(f"{options}: config.json of the export names no margin and no norm")
    buffers = {"head.counts", "head.context_max", "head.context_max_ema"}
    weights = {
        name: x.clone().requires_grad_() for name, x in initial.items() if name not in buffers
    }
    tied = None if "head.weight" in weights else "embedding.weight"
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in weights.values()]
    lstm = torch.nn.LSTM(12, 12)
    names = [name for name, _ in lstm.named_parameters()]
    counts = initial["head.counts"].tolist() if "head.counts" in initial else [1] * config["vocab"]
    state, largest = (torch.zeros(1, 6, 12), torch.zeros(1, 6, 12)), []
    for step, (words, targets) in enumerate(
        zip(batches["input"].long(), batches["target"].long()), 1
    ):
        h, state = torch.func.functional_call(
            lstm,
            {x: weights[f"lstm.{x}"] for x in names},
            (weights["embedding.weight"][words], state),
        )
        state, h = tuple(x.detach() for x in state), h.reshape(-1, 12)
        m = c = None
        if config["head"] == "mos":
            m = weights["head.prior.weight"].T
            c = weights["head.latent.weight"].reshape(-1, 12, 12).transpose(1, 2)
        loss, _ = head(
            given,
            counts,
            h,
            weights[tied or "head.weight"],
            weights["head.bias"],
            m,
            c,
            targets.reshape(-1).tolist(),
        )
        loss.backward()
        largest.append(
            torch.stack(
                [x.norm(dim=1).max() for x in ([h] if m is None else torch.tanh(h @ c))]
            ).detach()
        )
        norm = adam(list(weights.values()), moments, step, config)
        label = f"replay {' '.join(options)} step {step}"
        close(f"{label} loss", losses["loss"][step - 1], loss.detach(), 1e-10)
        close(f"{label} gradient norm", losses["grad_norm"][step - 1], torch.tensor(norm), 1e-8)
    for name, x in weights.items():
        close(f"replay {' '.join(options)} {name}", final[name], x.detach(), 1e-6)
    if "head.context_max" in final:
        close(
            "largest norm", final["head.context_max"], torch.stack(largest).max(dim=0).values, 1e-8
        )
    if "head.context_max_ema" in final:
        average = largest[0]
        for x in largest[1:]:
            average = 0.99 * average + 0.01 * x
        close("average norm", final["head.context_max_ema"], average, 1e-8)


check_kernel_inspect()
for replayed in [
    "--margin arc:0.1 --context-norm max",
    "--margin cos:0.2 --word-norm log-rank:through",
    "--margin lsm:2 --word-norm log-unigram:scaled --context-norm max:ema",
    "--margin cos:0.1 --context-norm max:through --tie-embeddings",
    "--margin arc:0.2 --word-norm uniform --context-norm max --head mix:3*lin",
]:
    check_replay(*replayed.split())
for norms in [("none", "none"), ("log-rank", "max"), ("log-unigram:scaled", "max:ema")]:
    check_trained(*norms)
print("margins and norms agree with PyTorch")
