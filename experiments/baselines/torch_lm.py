#!/usr/bin/env python3
"""Speed and memory of one language-model step in PyTorch: what bench_lm measures.

An LSTM on random words with carried state, dropout 0.1 on the embeddings, no word bias, Adam at 1e-3, gradients clipped to a norm of 1.
Prints one JSON line with the keys of bench_lm, and `compile`.
"""
import argparse

import torch

import common


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--vocab", type=int, default=30000, help="words")
    p.add_argument("--dim", type=int, default=512, help="width of embeddings and LSTM")
    p.add_argument("--layers", type=int, default=2, help="LSTM layers")
    p.add_argument("--batch", type=int, default=32, help="columns")
    p.add_argument("--bptt", type=int, default=35, help="time steps")
    p.add_argument("--head", choices=common.HEADS, default="lin", help="mos: a mixture of --components inner products")
    p.add_argument("--components", type=int, default=1, help="of mos")
    p.add_argument("--untied", action="store_true", help="mos: word vectors of its own for each component")
    p.add_argument("--score", action="store_true", help="forward only, without gradients")
    common.add_step_options(p, steps=12, warmup=3)
    return p.parse_args()


def main():
    o = parse()
    device = common.set_machine(o)
    model = common.LanguageModel(o.vocab, o.dim, o.dim, o.layers, dropout=0.1, kind=o.head, components=o.components, untied=o.untied)
    for matrix in (model.embedding.weight, model.head.weight):
        torch.nn.init.normal_(matrix, std=0.02)
    model.to(device).train(not o.score)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    words = torch.randint(o.vocab, (o.warmup + o.steps, o.bptt + 1, o.batch), device=device)
    forward = torch.compile(model) if o.compile else model
    state = None

    def step(i):
        nonlocal state
        with torch.set_grad_enabled(not o.score), common.autocast(o):
            rows, carried = forward(words[i, :-1], state)
            loss = common.word_loss(model.head, rows, words[i, 1:])
        state = tuple(s.detach() for s in carried)
        if not o.score:
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return loss.detach()

    seconds, loss = common.median_seconds(step, o, device)
    common.print_json(system="torch " + torch.__version__, task="lm", head=o.head, components=o.components, untied=o.untied, vocab=o.vocab,
                      batch=o.batch, bptt=o.bptt, device=o.device, precision=o.precision, score=o.score, threads=o.threads,
                      s_per_step=seconds, tokens_per_s=o.batch * o.bptt / seconds, peak_mib=common.peak_mib(device), loss=loss,
                      compile=o.compile)


if __name__ == "__main__":
    main()
