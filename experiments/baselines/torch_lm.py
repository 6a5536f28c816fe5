#!/usr/bin/env python3
"""Speed and memory of one language-model step in PyTorch: what bench_lm measures.

An LSTM on random words with carried state, dropout 0.1 on the embeddings, no word bias, Adam at
1e-3, gradients clipped to a norm of 1. --arch transformer: nn.TransformerEncoder with a causal mask
over windows of their own, dropout 0.1 on the sum of embedding and position and on residual
branches. --arch llama: Llama's layers in place of GPT-2's. Prints one JSON line: the keys of bench_lm for which this program has a value, and how
PyTorch was asked to compute.
"""
import argparse

import torch

import common


def parse(words=None):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    p.add_argument("--vocab", type=int, default=30000, help="words")
    p.add_argument(
        "--arch", choices=("lstm", "transformer", "llama"), default="lstm", help="network"
    )
    p.add_argument("--dim", type=int, default=512, help="width of the network")
    p.add_argument("--layers", type=int, default=2, help="layers")
    p.add_argument("--heads", type=int, default=8, help="transformer: attention heads")
    p.add_argument(
        "--ffn",
        type=int,
        default=0,
        help="transformer: width inside of the feed-forward networks; 0: 4 times --dim, llama: 8/3 "
        "times --dim, rounded up to a multiple of 8",
    )
    p.add_argument(
        "--activation", choices=tuple(common.ACTIVATIONS), default="gelu", help="transformer"
    )
    p.add_argument("--batch", type=int, default=32, help="columns")
    p.add_argument("--bptt", type=int, default=35, help="time steps; transformer: the window")
    p.add_argument(
        "--head",
        choices=common.HEADS,
        default="lin",
        help="mos: a mixture of --components inner products",
    )
    p.add_argument("--components", type=int, default=1, help="of mos")
    p.add_argument(
        "--untied", action="store_true", help="mos: word vectors of its own for each component"
    )
    p.add_argument("--score", action="store_true", help="forward only, without gradients")
    p.add_argument(
        "--chunked",
        action="store_true",
        help="linear cross-entropy in chunks (PyTorch 2.13 and newer); needs --head lin",
    )
    common.add_step_options(p, steps=12, warmup=3)
    return p.parse_args(words)


def prepare(o, device):
    """The step of the options, a function of its number, and their model."""
    head = {"kind": o.head, "components": o.components, "untied": o.untied}
    if o.arch == "lstm":
        model = common.LanguageModel(o.vocab, o.dim, o.dim, o.layers, dropout=0.1, **head)
    elif o.arch == "llama":
        ffn = o.ffn or -(-8 * o.dim // 24) * 8
        model = common.LlamaLanguageModel(
            o.vocab, o.dim, o.layers, o.heads, ffn, o.bptt, dropout=0.1, **head
        )
    else:
        model = common.TransformerLanguageModel(
            o.vocab,
            o.dim,
            o.layers,
            o.heads,
            o.ffn or 4 * o.dim,
            o.bptt,
            o.activation,
            dropout=0.1,
            **head,
        )
    for matrix in (model.embedding.weight, model.head.weight):
        torch.nn.init.normal_(matrix, std=0.02)
    model.to(device).train(not o.score)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=o.fused or None)
    count = o.warmup + o.steps
    words = torch.randint(o.vocab, (count, o.bptt + 1, o.batch), device=device)
    state = None

    def forward(inputs, targets, state):
        h, state = model.hidden(inputs, state) if o.arch == "lstm" else (model.hidden(inputs), None)
        return common.context_loss(model.head, h, targets, o.chunked), state

    if o.compile:
        forward = torch.compile(forward)

    def step(i):
        nonlocal state
        with torch.set_grad_enabled(not o.score), common.autocast(o):
            loss, state = forward(words[i % count, :-1], words[i % count, 1:], state)
        if state is not None:
            state = tuple(s.detach() for s in state)
        if not o.score:
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return loss.detach()

    return step, model


def main():
    o = parse()
    device = common.set_machine(o)
    step, _ = prepare(o, device)
    seconds, loss = common.median_seconds(step, o, device)
    common.print_json(
        system="torch " + torch.__version__,
        task="lm",
        arch=o.arch,
        head=o.head,
        components=o.components,
        untied=o.untied,
        vocab=o.vocab,
        batch=o.batch,
        bptt=o.bptt,
        device=o.device,
        precision=o.precision,
        score=o.score,
        threads=o.threads,
        s_per_step=seconds,
        tokens_per_s=o.batch * o.bptt / seconds,
        peak_mib=common.peak_mib(device),
        loss=loss,
        compile=o.compile,
        chunked=o.chunked,
        fused=o.fused,
    )


if __name__ == "__main__":
    main()
