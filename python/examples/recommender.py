#!/usr/bin/env python3
"""A recommender with a full softmax over many items: no sampled negatives, and no logits in memory.

    python recommender.py                          # 2,000 items, half a minute
    python recommender.py --items 1000000 --batch 512 --steps 2000

A user buys items of a few of many topics. The model reads the last items as the mean of their
vectors, and predicts the next item. Prints the loss and how often the next item is among the ten
most probable.
"""
import argparse
import resource
import time

import torch

import nine.torch


class Recommender(torch.nn.Module):
    def __init__(self, items: int, width: int, head: str):
        super().__init__()
        self.items = torch.nn.EmbeddingBag(items, width, mode="mean", sparse=False)
        self.hidden = torch.nn.Linear(width, width)
        self.head = nine.torch.KernelSoftmax(width, items, head)

    def forward(self, last: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.hidden(self.items(last)))


class Shop:
    """Items have topics, and within a topic some items are bought more than others."""

    def __init__(self, items: int, topics: int):
        self.items, self.topics = items, topics

    def baskets(self, count: int, length: int) -> torch.Tensor:
        topic = torch.randint(self.topics, (count, 1))
        in_topic = self.items // self.topics
        # A power law: the square of a uniform number prefers the first items.
        rank = (torch.rand(count, length).square() * in_topic).long()
        return topic + self.topics * rank


def main(arguments=None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--history", type=int, default=5, help="items that the model reads")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--head", default="lin")
    parser.add_argument("--lr", type=float, default=0.01)
    options = parser.parse_args(arguments)

    torch.manual_seed(1)
    shop = Shop(options.items, options.topics)
    model = Recommender(options.items, options.width, options.head)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)

    def hits(users: int = 500) -> float:
        baskets = shop.baskets(users, options.history + 1)
        with torch.no_grad():
            _, best = model.head.topk(model(baskets[:, :-1]), 10)
        return float((best == baskets[:, -1:]).any(1).float().mean())

    losses = []
    before, begin = hits(), time.perf_counter()
    for step in range(options.steps):
        baskets = shop.baskets(options.batch, options.history + 1)
        loss = model.head.loss(model(baskets[:, :-1]), baskets[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % max(1, options.steps // 5) == 0 or step + 1 == options.steps:
            print(f"step {step + 1:4}  loss {losses[-1]:.3f}")
    seconds, after = time.perf_counter() - begin, hits()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"next item among the first ten: {100 * before:.1f}% before, {100 * after:.1f}% after; "
        f"{1000 * seconds / options.steps:.1f} ms a step; at most {peak:.0f} MiB of memory"
    )
    return {"before": before, "after": after, "losses": losses}


if __name__ == "__main__":
    main()
