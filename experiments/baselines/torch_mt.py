#!/usr/bin/env python3
"""Speed and memory of one translation step in PyTorch: what bench_mt measures.

A Transformer on pairs of random words without padding, the decoder's embeddings tied to the output
layer, dropout as in fairseq's recipe for IWSLT, label smoothing 0.1, Adam at 5e-4, no clipping.
Prints one JSON line: the keys of bench_mt for which this program has a value, and how PyTorch was
asked to compute.
"""
import argparse

import torch
from torch.nn import functional as F

import common


def parse(words=None):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    p.add_argument("--vocab", type=int, default=10000, help="words of each side")
    p.add_argument("--dim", type=int, default=512, help="width")
    p.add_argument("--ffn", type=int, default=1024, help="width inside of the feed-forward branch")
    p.add_argument("--heads", type=int, default=4, help="attention heads")
    p.add_argument("--layers", type=int, default=6, help="layers of encoder and of decoder")
    p.add_argument("--sentences", type=int, default=64, help="pairs a step")
    p.add_argument("--length", type=int, default=24, help="words of each sentence")
    p.add_argument(
        "--norm", choices=("post", "pre"), default="post", help="where layer norms stand"
    )
    p.add_argument("--dropout", type=float, default=0.3, help="on embeddings and residual branches")
    p.add_argument("--shared-vocab", action="store_true", help="one embedding for both sides")
    common.add_step_options(p, steps=6, warmup=2)
    return p.parse_args(words)


def prepare(o, device):
    """The step of the options, a function of its number, and their model."""
    sizes = {
        "dim": o.dim,
        "ffn": o.ffn,
        "heads": o.heads,
        "src_vocab": o.vocab,
        "tgt_vocab": o.vocab,
        "encoder_layers": o.layers,
        "decoder_layers": o.layers,
    }
    model = common.TranslationModel(
        sizes,
        common.sinusoids(1024, o.dim).float(),
        o.dim**0.5,
        pre_norm=o.norm == "pre",
        final_norms=o.norm == "pre",
        dropout=o.dropout,
    )
    model.head.weight = model.tgt_embedding.weight
    if o.shared_vocab:
        model.src_embedding.weight = model.tgt_embedding.weight
    for table in (model.src_embedding, model.tgt_embedding):
        torch.nn.init.normal_(table.weight, std=o.dim**-0.5)
    model.to(device).train()
    optimizer = torch.optim.Adam(
        model.parameters(), lr=5e-4, betas=(0.9, 0.98), fused=o.fused or None
    )
    count = o.warmup + o.steps
    sources = torch.randint(o.vocab, (count, o.sentences, o.length), device=device)
    targets = torch.randint(o.vocab, (count, o.sentences, o.length + 1), device=device)

    def forward(source, target):
        rows = model(source, target[:, :-1])
        return F.cross_entropy(rows.flatten(0, 1), target[:, 1:].flatten(), label_smoothing=0.1)

    if o.compile:
        forward = torch.compile(forward)

    def step(i):
        with common.autocast(o):
            loss = forward(sources[i % count], targets[i % count])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, model


def main():
    o = parse()
    device = common.set_machine(o)
    step, model = prepare(o, device)
    seconds, loss = common.median_seconds(step, o, device)
    parameters = sum(p.numel() for p in model.parameters())
    common.print_json(
        system="torch " + torch.__version__,
        task="mt",
        vocab=o.vocab,
        layers=o.layers,
        sentences=o.sentences,
        length=o.length,
        device=o.device,
        threads=o.threads,
        parameters=parameters,
        s_per_step=seconds,
        tokens_per_s=2 * o.sentences * o.length / seconds,
        peak_mib=common.peak_mib(device),
        loss=loss,
        precision=o.precision,
        compile=o.compile,
        fused=o.fused,
    )


if __name__ == "__main__":
    main()
