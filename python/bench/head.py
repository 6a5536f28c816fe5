#!/usr/bin/env python3
"""Measures the forward and backward pass of output layers on the CPU: time and peak memory.

    python head.py                                        # the shapes of docs/python.md
    python head.py --shape 64,1000,32 --rounds 3          # N contexts, V words, d numbers
    python head.py --shape 4096,256000,2304 --dtype bfloat16

Each contender runs in a process of its own. Its memory is what a pass needs at most beyond the
inputs: gradients and whatever is kept between. The contenders take turns, round by round; the table has the
median. Packages that are missing (Liger, cut-cross-entropy) and contenders that fail, for lack of
memory for example, are named and left out.
"""
import argparse
import ctypes
import gc
import json
import statistics
import subprocess
import sys
import time

SHAPES = ["1120,30000,512", "2048,50257,768"]
HEADS = {"lin": ["nine", "torch", "torch_chunked", "torch_compiled", "torch_chunked_compiled",
                 "liger", "cce"],
         "mix:4*lin": ["nine", "torch", "torch_compiled"],
         "log": ["nine", "torch", "torch_compiled"]}  # fmt: skip


def memory_mib(what: str) -> float:
    """VmRSS: this process's memory now; VmHWM: the largest since reset_peak()."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(what)) / 1024


def reset_peak() -> None:
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def plain_loss(head, torch, F):
    """The head in plain PyTorch, with all logits in memory."""

    def lin(h, w, y, _prior, _context):
        return F.cross_entropy((h @ w.T).float(), y)

    def log(h, w, y, _prior, _context):
        z = h @ w.T
        q = (h.square().sum(1)[:, None] + w.square().sum(1) - 2 * z).clamp_min(0)
        return F.cross_entropy(-torch.log1p(q.float()), y)

    def mixture(h, w, y, prior, context):
        prior_log_p = F.log_softmax((h @ prior.T).float(), -1)
        parts = [
            F.log_softmax((torch.tanh(h @ c.T) @ w.T).float(), -1).gather(1, y[:, None])[:, 0]
            for c in context
        ]
        return -torch.logsumexp(prior_log_p + torch.stack(parts, 1), 1).mean()

    return {"lin": lin, "log": log, "mix:4*lin": mixture}[head]


def loss_of(contender, head):
    """A function of h, w, y, prior and context."""
    import torch
    import torch.nn.functional as F

    if contender == "nine":
        from nine.torch import kernel_cross_entropy

        more = ("prior", "context") if head.startswith("mix") else ()
        return lambda h, w, y, prior, context: kernel_cross_entropy(
            h, w, y, head=head, **{k: v for k, v in zip(more, (prior, context))}
        )
    if contender in ("torch", "torch_compiled"):
        plain = plain_loss(head, torch, F)
        return torch.compile(plain) if contender == "torch_compiled" else plain
    if contender in ("torch_chunked", "torch_chunked_compiled"):
        options = torch.nn.LinearCrossEntropyOptions()

        def chunked(h, w, y, _prior, _context):
            return F.linear_cross_entropy(h, w, y, options=options)

        return torch.compile(chunked) if contender.endswith("compiled") else chunked
    if contender == "liger":
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

        liger = LigerFusedLinearCrossEntropyLoss()
        return lambda h, w, y, _prior, _context: liger(w, h, y)
    if contender == "cce":
        from cut_cross_entropy import linear_cross_entropy

        return lambda h, w, y, _prior, _context: linear_cross_entropy(h, w, y, impl="torch_compile")
    raise ValueError(contender)


def measure(contender, head, shape, dtype, threads) -> None:
    """In a process of its own: prints the loss and, for each line of standard input, milliseconds
    and MiB."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    rows, words, width = shape
    kind = getattr(torch, dtype)
    h = torch.randn(rows, width).mul_(0.3).to(kind).requires_grad_()
    w = torch.randn(words, width).mul_(0.1).to(kind).requires_grad_()
    y = torch.randint(words, (rows,))
    prior = torch.randn(4, width).mul_(0.1).to(kind).requires_grad_()
    context = torch.randn(4, width, width).mul_(width**-0.5).to(kind).requires_grad_()
    tensors = (h, w, prior, context)
    loss_function = loss_of(contender, head)

    def run() -> float:
        for t in tensors:
            t.grad = None
        loss = loss_function(h, w, y, prior, context)
        loss.backward()
        return loss.item()

    # The first pass compiles and imports.
    print(json.dumps(run()), flush=True)
    for t in tensors:
        t.grad = None
    reset_peak()
    before = memory_mib("VmRSS")
    for _ in sys.stdin:
        begin = time.perf_counter()
        run()
        print(
            json.dumps([1000 * (time.perf_counter() - begin), memory_mib("VmHWM") - before]),
            flush=True,
        )


class Contender:
    def __init__(self, name, head, options, shape):
        self.name, self.results = name, []
        command = [sys.executable, __file__, "--measure", name, "--head", head, "--shape", shape]
        command += ["--dtype", options.dtype, "--threads", str(options.threads)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first = self.process.stdout.readline()
        self.loss = json.loads(first) if first else None

    def run(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            self.results.append(json.loads(line))
        else:
            self.loss = None

    def why(self) -> str:
        lines = self.process.stderr.read().strip().splitlines()
        return lines[-1][:100] if lines else f"ended with {self.process.wait()}"

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def compare(head, shape, options) -> None:
    print(f"\n{head}, (N, V, d) = ({shape}), {options.dtype}, {options.threads} threads")
    running = []
    for name in HEADS[head]:
        if options.without_compiled and name.endswith("compiled"):
            continue
        contender = Contender(name, head, options, shape)
        if contender.loss is None:
            print(f"  {name:24} left out: {contender.why()}")
        else:
            running.append(contender)
    for _ in range(options.rounds):
        for contender in running:
            if contender.loss is not None:
                contender.run()
    for contender in running:
        if contender.loss is None:
            print(f"  {contender.name:24} left out: {contender.why()}")
            continue
        times, peaks = zip(*contender.results)
        print(
            f"  {contender.name:24} {statistics.median(times):10.1f} ms  {max(peaks):9.0f} MiB"
            f"  loss {contender.loss:.5f}",
            flush=True,
        )
        contender.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", nargs="+", default=SHAPES, metavar="N,V,d")
    parser.add_argument("--head", nargs="+", default=list(HEADS), choices=list(HEADS))
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--without-compiled",
        action="store_true",
        help="leave torch.compile out, which takes a minute",
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    shapes = [tuple(int(n) for n in shape.split(",")) for shape in options.shape]
    if options.measure:
        measure(options.measure, options.head[0], shapes[0], options.dtype, options.threads)
        return
    for shape in options.shape:
        for head in options.head:
            compare(head, shape, options)


if __name__ == "__main__":
    main()
