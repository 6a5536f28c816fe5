#!/usr/bin/env python3
"""Trains the paper's language model in PyTorch: the perplexity that lm_train is to reach.

Embeddings and a two-layer LSTM of 512 numbers, dropout 0.1 on the embeddings, a softmax layer with
a word bias, Adam, clipped gradients. Words that are rarer than --min-count become <unk>; each epoch
takes the sentences in a new order, joins them with </s>, cuts the text into --batch columns and
carries the LSTM's state from one block of --bptt words to the next. Perplexity counts </s> and
<unk>. Prints a JSON line after each epoch, progress to stderr.
"""
import argparse
import collections
import math
import sys
import time

import torch

import common
from texts import sentences

END, UNKNOWN = 0, 1


def parse():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    p.add_argument("--train", required=True, help="text, a sentence of words between spaces a line")
    p.add_argument("--valid", required=True)
    p.add_argument("--test", help="scored after each epoch, too")
    p.add_argument("--min-count", type=int, default=3, help="rarer words become <unk>")
    p.add_argument("--dim", type=int, default=512, help="width of embeddings and LSTM")
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--batch", type=int, default=32, help="columns")
    p.add_argument("--bptt", type=int, default=35, help="time steps")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--clip", type=float, default=1.0, help="largest gradient norm, 0: none")
    p.add_argument("--dropout", type=float, default=0.1, help="on the embeddings")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    common.add_machine_options(p)
    return p.parse_args()


class Vocabulary:
    """</s>, <unk>, then the words by falling count."""

    def __init__(self, text, min_count):
        counts = collections.Counter(word for sentence in text for word in sentence)
        kept = sorted(
            (word for word, count in counts.items() if count >= min_count),
            key=lambda word: (-counts[word], word),
        )
        self.ids = {word: i for i, word in enumerate(kept, 2)}

    def __len__(self):
        return len(self.ids) + 2

    def encode(self, text):
        return [[self.ids.get(word, UNKNOWN) for word in sentence] + [END] for sentence in text]


def blocks(encoded, batch, bptt, device, whole=False):
    """Yields inputs and targets (T, batch), the text cut into columns; T is bptt, and less in the
    last block, which `whole` leaves out.

    The first input of a column is the word before it in the text, that of the first column </s>.
    """
    flat = torch.tensor([word for sentence in encoded for word in sentence])
    rows = len(flat) // batch
    columns = flat[: rows * batch].view(batch, rows).t().contiguous()
    # what stands before each column in the text
    first = torch.cat([torch.tensor([END]), columns[-1, :-1]])
    columns = torch.cat([first[None], columns]).to(device)
    for begin in range(0, rows - bptt + 1 if whole else rows, bptt):
        end = min(begin + bptt, rows)
        yield columns[begin:end], columns[begin + 1 : end + 1]


def perplexity(model, encoded, device):
    model.eval()
    nats, words, state = 0.0, 0, None
    with torch.no_grad():
        for inputs, targets in blocks(encoded, 10, 100, device):
            rows, state = model(inputs, state)
            nats += common.word_loss(model.head, rows, targets).item() * targets.numel()
            words += targets.numel()
    return math.exp(nats / words)


def train_epoch(model, optimizer, encoded, options, device, epoch):
    """One pass over the sentences in a new order; returns words per second."""
    model.train()
    order = torch.randperm(len(encoded)).tolist()
    begin, words, state = time.perf_counter(), 0, None
    for i, (inputs, targets) in enumerate(
        blocks([encoded[s] for s in order], options.batch, options.bptt, device, True)
    ):
        rows, state = model(inputs, state)
        state = tuple(s.detach() for s in state)
        loss = common.word_loss(model.head, rows, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        common.clip_gradients(list(model.parameters()), options.clip)
        optimizer.step()
        words += targets.numel()
        if i % 200 == 0:
            speed = words / (time.perf_counter() - begin)
            print(
                f"epoch {epoch}, update {i}: loss {loss.item():.4f}, {speed:.0f} words/s",
                file=sys.stderr,
                flush=True,
            )
    return words / (time.perf_counter() - begin)


def main():
    o = parse()
    device = common.set_machine(o)
    text = sentences(o.train)
    vocabulary = Vocabulary(text, o.min_count)
    train, valid = vocabulary.encode(text), vocabulary.encode(sentences(o.valid))
    test = vocabulary.encode(sentences(o.test)) if o.test else None
    model = common.LanguageModel(len(vocabulary), o.dim, o.dim, o.layers, o.dropout, bias=True)
    torch.nn.init.normal_(model.embedding.weight, std=0.02)
    torch.nn.init.normal_(model.head.weight, std=0.02)
    torch.nn.init.zeros_(model.head.bias)
    model.to(device, getattr(torch, o.dtype))
    optimizer = torch.optim.Adam(model.parameters(), lr=o.lr)
    for epoch in range(1, o.epochs + 1):
        speed = train_epoch(model, optimizer, train, o, device, epoch)
        figures = {"valid_ppl": perplexity(model, valid, device)}
        if test is not None:
            figures["test_ppl"] = perplexity(model, test, device)
        common.print_json(
            system="torch " + torch.__version__,
            epoch=epoch,
            vocab=len(vocabulary),
            **figures,
            words_per_s=speed,
        )


if __name__ == "__main__":
    main()
