#!/usr/bin/env python3
"""GPT-2 of `transformers` with other output layers, from scratch, on a text of words.

    python gpt2.py                                   # a minute: lin, log and a mixture, side by side
    python gpt2.py --text train.txt --words 50257 --width 768 --layers 12 --heads 12 --steps 10000

Prints the loss and the perplexity of the last tenth of the text.
"""
import argparse
import collections
import math
import random
import time

import torch
import transformers

import nine.torch


def sample_text(sentences: int) -> str:
    """Sentences of a small language: a noun and its verb agree in number."""
    draw = random.Random(1)
    nouns, verbs = "cat dog bird man woman child".split(), "sees hears likes feeds".split()
    parts = []
    for _ in range(sentences):
        subject, verb, object_ = draw.choice(nouns), draw.choice(verbs), draw.choice(nouns)
        if draw.random() < 0.5:
            subject, verb = subject + "s", verb[:-1]
        parts.append(f"the {subject} {verb} a {object_} .")
    return " ".join(parts)


def word_ids(text: str, words: int) -> torch.Tensor:
    """The text as numbers of its most frequent words; 0 stands for all others."""
    counts = collections.Counter(text.split())
    numbers = {word: i + 1 for i, (word, _) in enumerate(counts.most_common(words - 1))}
    return torch.tensor([numbers.get(word, 0) for word in text.split()])


def train(head: str, ids: torch.Tensor, options) -> float:
    torch.manual_seed(options.seed)
    config = transformers.GPT2Config(
        vocab_size=int(ids.max()) + 1,
        n_positions=options.length,
        n_embd=options.width,
        n_layer=options.layers,
        n_head=options.heads,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = nine.torch.patch(transformers.GPT2LMHeadModel(config), head)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
    rows = ids[: len(ids) // options.length * options.length].reshape(-1, options.length)
    held_out = max(1, len(rows) // 10)
    training, test = rows[:-held_out], rows[-held_out:]
    begin = time.perf_counter()
    for step in range(options.steps):
        batch = training[torch.randint(len(training), (options.batch,))]
        loss = model(batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    seconds = time.perf_counter() - begin
    model.eval()
    with torch.no_grad():
        # A loss is a mean over its rows, and the last part may have fewer.
        parts = [(len(part), model(part, labels=part).loss) for part in test.split(options.batch)]
    perplexity = math.exp(sum(rows * float(loss) for rows, loss in parts) / len(test))
    print(f"{head:16} loss {loss.item():.3f}  test perplexity {perplexity:.3f}  {seconds:.1f} s")
    return perplexity


def main(arguments=None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--head", nargs="+", default=["lin", "log", "mix:3*lin,log"])
    parser.add_argument("--text", help="a file of words; the default is a generated text")
    parser.add_argument("--words", type=int, default=10_000, help="size of the vocabulary")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--length", type=int, default=32, help="words in a row of a batch")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.text:
        with open(options.text, encoding="utf-8") as file:
            text = file.read()
    else:
        text = sample_text(4000)
    ids = word_ids(text, options.words)
    return {head: train(head, ids, options) for head in options.head}


if __name__ == "__main__":
    main()
