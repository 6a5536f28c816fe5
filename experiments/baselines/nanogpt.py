#!/usr/bin/env python3
"""nanoGPT's character model of a text with its settings for a CPU, evaluated as experiments/nanogpt.sh
evaluates lm_train's.

The model and the optimiser are those of a checkout of github.com/karpathy/nanoGPT, the loop is that of
its train.py: batches of windows at random places, cosine to a tenth after 100 updates of warm-up,
gradients clipped at a norm of 1. The first nine tenths of the text are the training text. Prints nats a
character on the other tenth after the last update, and seconds of training without evaluation.
"""
import argparse
import math
import sys
import time

import torch


def parse():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    p.add_argument("nanogpt", help="folder of the checkout, with model.py")
    p.add_argument("text", help="a text of characters, such as $DATA/shakespeare/input.txt")
    p.add_argument("--lr", type=float, default=1e-3, help="largest learning rate")
    p.add_argument("--updates", type=int, default=2000, help="updates")
    p.add_argument("--threads", type=int, default=1, help="of PyTorch's operations")
    p.add_argument("--seed", type=int, default=1337, help="of weights and windows")
    return p.parse_args()


WINDOW, BATCH, WARMUP = 64, 12, 100


def rate(o, update):
    if update < WARMUP:
        return o.lr * (update + 1) / (WARMUP + 1)
    share = (update - WARMUP) / (o.updates - WARMUP)
    return o.lr / 10 + 0.5 * (1 + math.cos(math.pi * share)) * o.lr * 0.9


def evaluate(model, text):
    """Nats a character of text[1:], in windows with nothing before them."""
    total = 0.0
    with torch.no_grad():
        for begin in range(0, len(text) - 1, WINDOW):
            part = text[None, begin : begin + WINDOW + 1]
            _, loss = model(part[:, :-1], part[:, 1:])
            total += loss.item() * (part.shape[1] - 1)
    return total / (len(text) - 1)


def main():
    o = parse()
    sys.path.insert(0, o.nanogpt)
    from model import GPT, GPTConfig  # pylint: disable=import-error,import-outside-toplevel

    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    with open(o.text, encoding="utf-8") as file:
        text = file.read()
    ids = {character: i for i, character in enumerate(sorted(set(text)))}
    data = torch.tensor([ids[character] for character in text])
    cut = len(text) * 9 // 10
    train, valid = data[:cut], data[cut:]
    model = GPT(
        GPTConfig(
            block_size=WINDOW,
            vocab_size=len(ids),
            n_layer=4,
            n_head=4,
            n_embd=128,
            dropout=0.0,
            bias=False,
        )
    )
    optimizer = model.configure_optimizers(0.1, o.lr, (0.9, 0.99), "cpu")
    begin = time.time()
    for update in range(o.updates):
        for group in optimizer.param_groups:
            group["lr"] = rate(o, update)
        at = torch.randint(len(train) - WINDOW, (BATCH,)).tolist()
        x, y = (
            torch.stack([train[i + shift : i + shift + WINDOW] for i in at]) for shift in (0, 1)
        )
        _, loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    seconds = time.time() - begin
    model.eval()
    print(
        f"nanoGPT: {evaluate(model, valid):.4f} nats a character in windows of "
        f"{WINDOW} by themselves, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
