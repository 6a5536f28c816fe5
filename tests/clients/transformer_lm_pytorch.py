#!/usr/bin/env python3
"""The Transformer language model against PyTorch's own nn.TransformerEncoder.

  transformer_lm_pytorch.py BIN

1. lm_train --export-parity: its 20 steps again, with autograd and torch.optim.Adam or AdamW, lion
   or muon, weights by PyTorch's names, in float64. Llama's layers are the module of
   docs/checkpoints.md.
2. Checkpoints of nn.TransformerEncoder with random weights, in float32 and bfloat16, pre-norm and
   post-norm, under the names of PyTorch's wrappers: lm_score opens them as docs/pytorch.md says and
   scores the same.
3. The same after the lines that its error prints have converted what torch.save wrote.
4. Checkpoints that lm_train wrote, loaded with load_state_dict: the same scores in float64; and in
   transformers' LlamaForCausalLM, if transformers is installed.

Exit 0 fine, 1 wrong, 77 skipped: PyTorch is not installed.
"""

import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print(f"skipped: PyTorch is not installed ({error})")
    sys.exit(77)

try:
    import transformers
except ImportError:
    transformers = None

from replay import ACTIVATIONS, GATED, Export, close, code_of_page, read_safetensors, replay

BIN = sys.argv[1]
LINES = ["the old king was here .", "", "a cat saw the dog", "the dog"]
PAGE = code_of_page("class Attention(nn.Module):", "def llama_state(t, width, kv_width):")


class Modern(PAGE["LM"]):
    """The page's module, of a config.json of --export-parity."""

    def __init__(self, c):
        super().__init__(
            c["vocab"],
            c["hidden"],
            c["layers"],
            c["heads"],
            c["ffn"],
            kv_heads=int(c.get("kv_heads", 0)),
            norm=nn.RMSNorm if c["norm_type"] == "rms" else nn.LayerNorm,
            activation=ACTIVATIONS[c["activation"]],
            gated=c["activation"] in GATED,
            bias=c["linear_bias"],
            qk_norm=c["qk_norm"],
            base=float(c["rotary_base"]),
            head_bias=c["head_bias"],
        )

    def log_p(self, ids):
        return torch.log_softmax(self(ids), -1)


class LM(nn.Module):
    def __init__(
        self,
        vocab,
        hidden,
        layers,
        heads,
        ffn,
        window,
        activation,
        positions="learned",
        components=0,
        norm="pre",
        final_norm=None,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        if positions == "learned":
            self.positions = nn.Embedding(window, hidden)
        layer = nn.TransformerEncoderLayer(
            hidden,
            heads,
            ffn,
            0.0,
            ACTIVATIONS[activation],
            norm_first=norm == "pre",
            batch_first=True,
        )
        final = norm == "pre" if final_norm is None else final_norm
        self.transformer = nn.TransformerEncoder(
            layer, layers, nn.LayerNorm(hidden) if final else None, enable_nested_tensor=False
        )
        self.head = nn.Linear(hidden, vocab)
        if components:
            self.head.prior = nn.Linear(hidden, components, bias=False)
            self.head.latent = nn.Linear(hidden, components * hidden, bias=False)

    def log_p(self, ids):  # (batch, steps) to (batch, steps, vocab)
        steps, x = ids.shape[1], self.embedding(ids)
        d = x.shape[-1]
        if hasattr(self, "positions"):
            x = x + self.positions.weight[:steps]
        else:
            angles = torch.arange(steps)[:, None] * 10000.0 ** (
                -torch.arange(d // 2, dtype=x.dtype) / (d // 2)
            )
            x = x * math.sqrt(d) + torch.cat([angles.sin(), angles.cos()], 1)
        h = self.transformer(
            x, nn.Transformer.generate_square_subsequent_mask(steps, dtype=x.dtype), is_causal=True
        )
        if not hasattr(self.head, "prior"):
            return torch.log_softmax(self.head(h), -1)
        contexts = torch.tanh(self.head.latent(h)).unflatten(-1, (-1, d))
        parts = torch.log_softmax(F.linear(contexts, self.head.weight, self.head.bias), -1)
        return torch.logsumexp(torch.log_softmax(self.head.prior(h), -1)[..., None] + parts, -2)


def write_safetensors(path, tensors):
    header, data = {}, b""
    names = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}
    for name, x in tensors.items():
        part = x.detach().contiguous().view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": names[x.dtype],
            "shape": list(x.shape),
            "data_offsets": [len(data), len(data) + len(part)],
        }
        data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def run(program, *arguments, text=None):
    return subprocess.run(
        [os.path.join(BIN, program), *arguments],
        check=True,
        text=True,
        input=text,
        capture_output=True,
    ).stdout


def model_of(config, tensors, dtype):
    c = config
    model = (
        Modern(c)
        if c["positions"] == "rotary"
        else LM(
            c["vocab"],
            c["hidden"],
            c["layers"],
            c["heads"],
            c["ffn"],
            c["window"],
            c["activation"],
            c["positions"],
            c["components"] if c["head"] == "mos" else 0,
            c["norm"],
        )
    ).to(dtype)
    if c["tie_embeddings"]:
        model.head.weight = model.embedding.weight
    missing, unknown = model.load_state_dict(tensors, strict=False)
    if unknown or set(missing) - ({"head.weight"} if c["tie_embeddings"] else set()):
        sys.exit(f"names differ: missing {missing}, unknown {unknown}")
    return model


def check_replay(*options):
    label = "replay " + " ".join(options)
    with tempfile.TemporaryDirectory() as directory:
        run(
            "lm_train",
            "--sample",
            "--sample-sentences",
            "400",
            *([] if "--arch" in options else ["--arch", "transformer"]),
            "--layers",
            "2",
            "--hidden",
            "24",
            "--heads",
            "3",
            "--batch",
            "5",
            "--bptt",
            "16",
            "--dtype",
            "float64",
            "--dropout",
            "0",
            "--lr",
            "0.01",
            "--warmup",
            "8",
            "--clip",
            "0.5",
            "--export-parity",
            directory,
            "--export-steps",
            "20",
            *options,
        )
        export = Export(directory)
    config, batches = export.config, export.batches
    model = model_of(config, export.initial, torch.float64).train()
    weight = torch.ones(config["vocab"], dtype=torch.float64)
    if "class_weights" in config:
        weight[0] = 0.25  # of </s>

    def loss_of(step):
        words, targets = (batches[key][step].long() for key in ("input", "target"))
        return F.nll_loss(model.log_p(words.t()).flatten(0, 1), targets.t().flatten(), weight)

    replay(label, export, model, loss_of)


def token_scores(model, lines, ids):
    """log p of each word and </s>, from </s> on."""
    found = []
    for line in lines:
        targets = [ids.get(x, 1) for x in line.split()] + [0]
        with torch.no_grad():
            log_p = model.log_p(torch.tensor([[0] + targets[:-1]]))[0]
        found.append(log_p[range(len(targets)), targets])
    return found


def check_scores(label, directory, model, limit):
    with open(os.path.join(directory, "dict.txt")) as file:
        ids = {line.split()[0]: i + 2 for i, line in enumerate(file)}
    printed = run(
        "lm_score", "--checkpoint", directory, "--tokens", text="\n".join(LINES) + "\n"
    ).splitlines()
    for line, numbers, expected in zip(LINES, printed, token_scores(model, LINES, ids)):
        close(f"{label}: {line}", [float(x) for x in numbers.split()], expected.double(), limit)


def check_pytorch_checkpoint(activation, norm, final_norm, prefix="", dtype=torch.float32):
    torch.manual_seed(3)
    words = ["the", "old", "king", "was", "here", ".", "a", "cat", "saw"]
    model = (
        LM(len(words) + 2, 32, 3, 4, 48, 20, activation, norm=norm, final_norm=final_norm)
        .float()
        .eval()
    )
    for p in model.parameters():
        nn.init.uniform_(p, -0.4, 0.4)
        p.data = p.data.to(dtype).float()
    with tempfile.TemporaryDirectory() as directory:
        write_safetensors(
            os.path.join(directory, "model.safetensors"),
            {prefix + k: x.to(dtype) for k, x in model.state_dict().items()},
        )
        with open(os.path.join(directory, "dict.txt"), "w") as file:
            file.writelines(f"{word} 1\n" for word in words)
        with open(os.path.join(directory, "config.json"), "w") as file:
            json.dump({"heads": 4, "activation": activation, "norm": norm}, file)
        check_scores(
            f"PyTorch's checkpoint, {activation}, {norm}, {final_norm}, {dtype}",
            directory,
            model.double(),
            1e-5,
        )


def check_pickles():
    """What torch.save writes is converted by the lines that the error prints."""
    torch.manual_seed(4)
    model = LM(7, 16, 1, 2, 24, 20, "relu", norm="post").float().eval()
    optimizer = torch.optim.Adam(model.parameters())
    model.log_p(torch.tensor([[0, 3, 4]])).sum().backward()
    optimizer.step()
    state, moments = model.state_dict(), optimizer.state_dict()
    lightning = {f"model.{name}": x for name, x in state.items()}
    model.double()
    for name, saved in {
        "model.pt": state,
        "last.pth": {"epoch": 3, "net": state, "optimizer": moments},
        "best.ckpt": {"state_dict": lightning, "optimizer_states": [moments]},
        "model.safetensors": {"a": {"b": state}},
    }.items():
        with tempfile.TemporaryDirectory() as directory:
            torch.save(moments, os.path.join(directory, "optimizer.pt"))
            torch.save(saved, os.path.join(directory, name))
            with open(os.path.join(directory, "dict.txt"), "w") as file:
                file.writelines(f"{word} 1\n" for word in ["the", "old", "king", "a", "cat"])
            with open(os.path.join(directory, "config.json"), "w") as file:
                json.dump({"heads": 2, "activation": "relu", "norm": "post"}, file)
            score = [os.path.join(BIN, "lm_score"), "--checkpoint", directory]
            said = subprocess.run(score, text=True, input="the\n", capture_output=True).stderr
            lines = said[said.index("import torch") :]
            subprocess.run([sys.executable, "-c", lines], check=True)
            check_scores(f"a pickle, {name}", directory, model, 1e-5)


def check_own_checkpoint(llama):
    with tempfile.TemporaryDirectory() as directory:
        run(
            "lm_train",
            "--sample",
            "--sample-sentences",
            "300",
            "--layers",
            "2",
            "--hidden",
            "16",
            "--heads",
            "4",
            "--bptt",
            "20",
            "--batch",
            "4",
            "--after",
            "20u",
            "--dtype",
            "float64",
            *(
                "--arch llama --kv-heads 2 --no-head-bias --rotary-base 500"
                if llama
                else "--arch transformer --activation gelu-tanh"
            ).split(),
            "--run",
            directory,
        )
        best = os.path.join(directory, "checkpoints", "best")
        tensors = read_safetensors(os.path.join(best, "model.safetensors"))
        vocab = len(tensors["head.weight"])
        if not llama:
            model = LM(vocab, 16, 2, 4, 64, 20, "gelu-tanh").double().eval()
            model.load_state_dict(tensors)
            return check_scores("lm_train's checkpoint", best, model, 1e-9)
        page = {"kv_heads": 2, "base": 500.0, "head_bias": False}
        model = PAGE["LM"](vocab, 16, 2, 4, 48, **page).double().eval()
        model.load_state_dict(tensors)
        model.log_p = lambda ids: torch.log_softmax(model(ids), -1)
        check_scores("lm_train's llama", best, model, 1e-9)
        if transformers is None:
            return print("skipped: transformers is not installed")
        config = transformers.LlamaConfig(
            vocab_size=vocab,
            hidden_size=16,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=20,
            rms_norm_eps=1e-5,
            rope_theta=500.0,
            rope_parameters={"rope_type": "default", "rope_theta": 500.0},
            tie_word_embeddings=False,
        )
        theirs = transformers.LlamaForCausalLM(config).double().eval()
        theirs.load_state_dict(PAGE["llama_state"](tensors, 16, 8))
        theirs.log_p = lambda ids: torch.log_softmax(theirs(ids).logits, -1)
        check_scores("lm_train's llama in transformers", best, theirs, 1e-5)


torch.set_num_threads(1)
for replayed in [
    "",
    "--positions sinusoidal --activation gelu-tanh",
    "--tie-embeddings --activation relu --ffn 20",
    "--head mix:3*lin",
    "--norm post --activation relu",
    "--optimizer adamw --weight-decay 0.1",
    "--positions rotary --activation geglu",
    "--positions rotary --activation silu --norm-type rms --rotary-base 50",
    "--arch llama",
    "--arch llama --kv-heads 1 --qk-norm --tie-embeddings",
    "--arch llama --kv-heads 1 --optimizer muon --weight-decay 0.1",
    "--arch llama --optimizer lion --weight-decay 0.1",
]:
    check_replay(*replayed.split())
with tempfile.NamedTemporaryFile("w", suffix=".txt") as weights:
    weights.write("</s> 0.25\n")
    weights.flush()
    check_replay("--class-weights", weights.name)
for name in ["gelu", "gelu-tanh", "relu"]:
    check_pytorch_checkpoint(name, "pre", True)
for final in [False, True]:
    check_pytorch_checkpoint("relu", "post", final, "module.", torch.bfloat16)
    check_pytorch_checkpoint("gelu", "post", final, "_orig_mod.", torch.float16)
check_pytorch_checkpoint("gelu", "pre", False)
check_pickles()
for is_llama in [False, True]:
    check_own_checkpoint(is_llama)
print("the Transformer language model agrees with PyTorch")
