"""What the PyTorch programs here have in common: output layers, models, losses, the update, and how
a step is measured.

Parameters have the names of the project's model.safetensors, so that state_dict() is such a file.
"""
import json
import math
import resource
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


# --- output layers: context vectors (..., d) to a row of V numbers each. `normalised`: they are
# log-probabilities already.


class InnerProduct(nn.Linear):
    """The usual softmax layer: `weight` V x d, `bias` V."""

    normalised = False

    def __init__(self, dim, vocab, bias):
        super().__init__(dim, vocab, bias)


class Distance(nn.Module):
    """pow (p = 2): minus the squared distance of word vector and context; rbf: exp of that."""

    normalised = False

    def __init__(self, dim, vocab, bias, kernel):
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter(torch.empty(vocab, dim))
        self.bias = nn.Parameter(torch.zeros(vocab)) if bias else None

    def forward(self, h):
        squares = (h * h).sum(-1, keepdim=True) + (self.weight * self.weight).sum(-1)
        distance = (squares - 2 * h @ self.weight.t()).clamp(min=0)
        scores = -distance if self.kernel == "pow" else torch.exp(-distance)
        return scores if self.bias is None else scores + self.bias


class Mixture(nn.Module):
    """A mixture of K softmaxes of inner products: `prior.weight` K x d, `latent.weight` Kd x d,
    `weight` V x d or, untied, K x V x d."""

    normalised = True

    def __init__(self, dim, vocab, bias, components, untied):
        super().__init__()
        self.components = components
        self.prior = nn.Linear(dim, components, bias=False)
        self.latent = nn.Linear(dim, components * dim, bias=False)
        self.weight = nn.Parameter(
            torch.empty(components, vocab, dim) if untied else torch.empty(vocab, dim)
        )
        self.bias = nn.Parameter(torch.zeros(vocab)) if bias else None

    def forward(self, h):
        contexts = torch.tanh(self.latent(h)).unflatten(-1, (self.components, -1))
        if self.weight.dim() == 3:
            scores = torch.einsum("...kd,kvd->...kv", contexts, self.weight)
        else:
            scores = contexts @ self.weight.t()
        if self.bias is not None:
            scores = scores + self.bias
        log_prior = F.log_softmax(self.prior(h), -1).unsqueeze(-1)
        return torch.logsumexp(log_prior + F.log_softmax(scores, -1), -2)


HEADS = ("lin", "pow", "rbf", "mos")


def make_head(dim, vocab, kind="lin", bias=False, components=1, untied=False):
    if kind == "lin":
        return InnerProduct(dim, vocab, bias)
    if kind == "mos":
        return Mixture(dim, vocab, bias, components, untied)
    return Distance(dim, vocab, bias, kind)


# --- models


class LanguageModel(nn.Module):
    """embedding.weight, lstm.*, head.*: words (T, B) and a carried state to the head's rows (T, B,
    V) and the next state."""

    def __init__(self, vocab, embed, hidden, layers, dropout=0.0, **head):
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(embed, hidden, layers)
        self.head = make_head(hidden, vocab, **head)

    def hidden(self, words, state=None):
        return self.lstm(self.dropout(self.embedding(words)), state)

    def forward(self, words, state=None):
        h, state = self.hidden(words, state)
        return self.head(h), state


def sinusoids(length, dim):
    """fairseq's table of positions: the sines of all frequencies, then their cosines."""
    half = dim // 2
    frequencies = torch.exp(
        torch.arange(half, dtype=torch.float64) * (-math.log(10000.0) / max(1, half - 1))
    )
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu-tanh": gelu_tanh}


class TransformerLanguageModel(nn.Module):
    """embedding.weight, positions.weight, transformer.* (nn.TransformerEncoder's names), head.*:
    words (T, B) to rows (T, B, V).

    `fixed`: a table of positions in place of the learned one; embeddings are then multiplied by
    sqrt(dim). Dropout is on the sum of embedding and position and on residual branches, not on
    attention weights and not inside of the feed-forward branch.
    """

    def __init__(
        self,
        vocab,
        dim,
        layers,
        heads,
        ffn,
        window,
        activation="gelu",
        fixed=None,
        dropout=0.0,
        norm="pre",
        **head,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.factor = 1.0
        if fixed is None:
            self.positions = nn.Embedding(window, dim)
        else:
            self.factor = math.sqrt(dim)
            self.register_buffer("fixed", fixed, persistent=False)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            dim, heads, ffn, dropout, ACTIVATIONS[activation], norm_first=norm == "pre"
        )
        self.transformer = nn.TransformerEncoder(
            layer, layers, nn.LayerNorm(dim) if norm == "pre" else None, enable_nested_tensor=False
        )
        for layer in self.transformer.layers:
            layer.dropout.p = layer.self_attn.dropout = 0.0
        self.head = make_head(dim, vocab, **head)

    def hidden(self, words):
        length = len(words)
        places = self.positions.weight if hasattr(self, "positions") else self.fixed
        x = self.dropout(self.embedding(words) * self.factor + places[:length, None])
        later = torch.ones(length, length, dtype=torch.bool, device=words.device).triu(1)
        return self.transformer(x, later, is_causal=True)

    def forward(self, words):
        return self.head(self.hidden(words))


class LlamaLayer(nn.Module):
    """A layer of Llama: RMS norms before the branches, rotary positions, SwiGLU, no biases."""

    def __init__(self, dim, heads, ffn, dropout):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.norm1, self.norm2 = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.in_proj = nn.Linear(dim, 3 * dim, bias=False)
        self.out_proj = nn.Linear(dim, dim, bias=False)
        self.linear1, self.linear3 = (nn.Linear(dim, ffn, bias=False) for _ in range(2))
        self.linear2 = nn.Linear(ffn, dim, bias=False)

    def forward(self, x, cosines, sines):
        parts = self.in_proj(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)

        def rotated(y):
            a, b = y.chunk(2, -1)
            return y * cosines + torch.cat([-b, a], -1) * sines

        y = F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        x = x + self.dropout(self.out_proj(y.transpose(1, 2).flatten(2)))
        h = self.norm2(x)
        return x + self.dropout(self.linear2(F.silu(self.linear1(h)) * self.linear3(h)))


class LlamaLanguageModel(nn.Module):
    """embedding.weight, layers.*, norm.weight, head.*: words (T, B) to rows (T, B, V). Dropout is on
    the embeddings and on residual branches."""

    def __init__(self, vocab, dim, layers, heads, ffn, window, dropout=0.0, base=10000.0, **head):
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(vocab, dim), nn.Dropout(dropout)
        self.layers = nn.ModuleList(LlamaLayer(dim, heads, ffn, dropout) for _ in range(layers))
        self.norm = nn.RMSNorm(dim, eps=1e-5)
        self.head = make_head(dim, vocab, **head)
        half = dim // heads // 2
        frequencies = base ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = (torch.arange(window)[:, None] * frequencies).repeat(1, 2)
        self.register_buffer("cosines", angles.cos().float(), persistent=False)
        self.register_buffer("sines", angles.sin().float(), persistent=False)

    def hidden(self, words):
        x, length = self.dropout(self.embedding(words.t())), len(words)
        for layer in self.layers:
            x = layer(x, self.cosines[:length], self.sines[:length])
        return self.norm(x).transpose(0, 1)

    def forward(self, words):
        return self.head(self.hidden(words))


class TranslationModel(nn.Module):
    """src_embedding, tgt_embedding, transformer.* (nn.Transformer's names), head.*: sources and
    targets (B, T) to rows (B, T, V).

    Dropout stands where fairseq's recipe for IWSLT has it: on embeddings and residual branches, not
    on attention weights and not inside of the feed-forward branch. `final_norms`: a layer norm
    behind the last layer of each side.
    """

    def __init__(
        self,
        sizes,
        positions,
        embed_scale,
        pre_norm=False,
        final_norms=False,
        dropout=0.0,
        pad=None,
        **head,
    ):
        super().__init__()
        dim, self.embed_scale, self.pad = sizes["dim"], embed_scale, pad
        self.src_embedding = nn.Embedding(sizes["src_vocab"], dim)
        self.tgt_embedding = nn.Embedding(sizes["tgt_vocab"], dim)
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            dim,
            sizes["heads"],
            sizes["encoder_layers"],
            sizes["decoder_layers"],
            sizes["ffn"],
            dropout,
            batch_first=True,
            norm_first=pre_norm,
        )
        self.head = make_head(dim, sizes["tgt_vocab"], **head)
        self.register_buffer("positions", positions, persistent=False)
        for side in (self.transformer.encoder, self.transformer.decoder):
            if not final_norms:
                side.norm = None
            for layer in side.layers:
                layer.dropout.p = 0.0
                for attention in (layer.self_attn, getattr(layer, "multihead_attn", None)):
                    if attention is not None:
                        attention.dropout = 0.0

    def embedded(self, table, words):
        return self.dropout(table(words) * self.embed_scale + self.positions[: words.shape[1]])

    def forward(self, source, target):
        length = target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        masks = {"tgt_mask": later, "tgt_is_causal": True}
        if self.pad is not None:
            masks.update(
                src_key_padding_mask=source == self.pad,
                memory_key_padding_mask=source == self.pad,
                tgt_key_padding_mask=target == self.pad,
            )
        h = self.transformer(
            self.embedded(self.src_embedding, source),
            self.embedded(self.tgt_embedding, target),
            **masks,
        )
        return self.head(h)


# --- losses and updates


def word_loss(head, rows, target, ignore=-1):
    """Mean nats of the target words; those of value `ignore` do not count."""
    loss = F.nll_loss if head.normalised else F.cross_entropy
    return loss(rows.flatten(0, -2), target.flatten(), ignore_index=ignore)


def context_loss(head, h, target, chunked):
    """Mean nats of the target words from contexts (..., d). `chunked`: by PyTorch's chunked linear
    cross-entropy, which never stores all logits and which torch.compile cannot compile."""
    if not chunked:
        return word_loss(head, head(h), target)
    if not isinstance(head, InnerProduct):
        raise SystemExit("--chunked needs --head lin")
    return torch.compiler.disable(F.linear_cross_entropy)(
        h.flatten(0, -2),
        head.weight,
        target.flatten(),
        linear_bias=head.bias,
        options=nn.LinearCrossEntropyOptions(),
    )


def smoothed_loss(head, rows, target, pad, smoothing, convention):
    """Mean cross entropy with label smoothing.

    Convention `uniform` gives smoothing / V to every word, `others` smoothing / (V - 1) to every
    other word.
    """
    keep = target.flatten() != pad
    rows, target = rows.flatten(0, -2)[keep], target.flatten()[keep]
    log_probs = rows if head.normalised else F.log_softmax(rows, -1)
    right, all_words, vocab = (
        log_probs.gather(1, target[:, None])[:, 0],
        log_probs.sum(1),
        rows.shape[1],
    )
    rest = all_words / vocab if convention == "uniform" else (all_words - right) / (vocab - 1)
    return -((1 - smoothing) * right + smoothing * rest).mean()


def clip_gradients(parameters, largest):
    """Scales gradients to a norm of at most `largest` (0: leaves them); returns the norm before,
    its squares added in float64.

    nn.utils.clip_grad_norm_ adds them in the gradients' type, which is some 1e-4 off for millions
    of float32 numbers.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.double().square().sum().item() for g in gradients))
    if largest > 0:
        for g in gradients:
            g.mul_(min(1.0, largest / (norm + 1e-6)))
    return norm


# --- programs


def add_machine_options(parser):
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch's operations on the CPU")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=1, help="of weights, dropout and random data")


def add_step_options(parser, steps, warmup):
    add_machine_options(parser)
    parser.add_argument(
        "--steps", type=int, default=steps, help="steps measured; the median is reported"
    )
    parser.add_argument("--warmup", type=int, default=warmup, help="steps before those")
    parser.add_argument(
        "--precision",
        choices=("fp32", "tf32", "bf16"),
        default="fp32",
        help="of products: tf32 on CUDA only; bf16 is PyTorch's autocast, on the CPU as well",
    )
    parser.add_argument(
        "--compile", action="store_true", help="torch.compile the forward pass with the loss"
    )
    parser.add_argument("--fused", action="store_true", help="Adam(fused=True)")


def set_machine(options):
    """Threads, seed and precision as the options say; returns the device."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    precision = getattr(options, "precision", "fp32")
    if precision == "tf32" and options.device == "cpu":
        raise SystemExit("--precision tf32 needs --device cuda")
    if options.device != "cpu":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = (
            precision == "tf32"
        )
    return torch.device(options.device)


def autocast(options):
    return torch.autocast(
        options.device.split(":")[0], dtype=torch.bfloat16, enabled=options.precision == "bf16"
    )


def seconds_of(step, numbers, device):
    """The time of step(i) for each of the numbers, and what the last one returned."""
    seconds, result = [], None
    wait = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
    for i in numbers:
        wait()
        begin = time.perf_counter()
        result = step(i)
        wait()
        seconds.append(time.perf_counter() - begin)
    return seconds, float(result)


def median_seconds(step, options, device):
    """The median time of step(0), step(1), ... after the warm-up, and what the last one
    returned."""
    seconds, result = seconds_of(step, range(options.warmup + options.steps), device)
    return statistics.median(seconds[options.warmup :]), result


def peak_mib(device):
    """The GPU's peak of PyTorch's allocations, or the process's largest resident size."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def print_json(**fields):
    print(json.dumps(fields), flush=True)
