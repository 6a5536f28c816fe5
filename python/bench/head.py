#!/usr/bin/env python3
"""Measures the forward and backward pass of output layers: time and peak memory.

    python head.py                                        # the shapes of docs/python.md
    python head.py --shape 64,1000,32 --rounds 3          # N contexts, V words, d numbers
    python head.py --shape 4096,256000,2304:bfloat16 --head lin
    python head.py --build ../../build --page ../../docs/python.md      # writes the page's table
    python head.py --device cuda --shape 4480,29952,512:bfloat16 --head lin --json      # on a GPU

Each contender runs in a process of its own. Its memory is what a pass needs at most beyond the
inputs: gradients and whatever is kept between. The contenders take turns, round by round; the table
has the median. A pass of more than 10^12 operations is measured once, and of more than 10^13 without
torch.compile after a pass of a small problem.
Packages that are missing (Liger, cut-cross-entropy) and contenders that fail, for lack of memory for
example, are named and left out. On a GPU a turn is REPEATS passes, of which the median counts, and
the memory is that of PyTorch's allocator, which Nine's working memory is not in.
"""
import argparse
import ctypes
import datetime
import gc
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import textwrap
import time

SHAPES = ["1120,30000,512", "2048,50257,768", "4096,256000,2304:bfloat16"]
PLAIN = ["nine", "nine_least", "torch", "torch_chunked", "torch_compiled", "torch_chunked_compiled"]
HEADS = {
    "lin": [*PLAIN, "liger", "cce"],
    "mix:4*lin": PLAIN,
    "log": ["nine", "nine_least", "torch", "torch_compiled"],
}
LONG = 1e13  # operations of a pass that is not repeated
REPEATS = 20  # passes of a turn on a GPU
# What the table calls the contenders.
NAMES = {
    "nine": "Nine",
    "nine_least": 'Nine, `memory="least"`',
    "torch": "PyTorch, `cross_entropy`",
    "torch_chunked": "PyTorch, `linear_cross_entropy`",
    "torch_compiled": "`cross_entropy`, compiled",
    "torch_chunked_compiled": "`linear_cross_entropy`, compiled",
    "liger": "Liger",
    "cce": "CCE",
}
BEGIN, END = "<!-- python/bench/head.py: begin -->\n", "<!-- python/bench/head.py: end -->\n"


class Shape:
    """N contexts, V words, d numbers, and their type: "N,V,d" or "N,V,d:bfloat16"."""

    def __init__(self, text):
        sizes, _, dtype = text.partition(":")
        self.text, self.dtype = text, dtype or "float32"
        self.rows, self.words, self.width = (int(n) for n in sizes.split(","))

    def __str__(self) -> str:
        sizes = f"({self.rows:,} {self.words:,} {self.width:,})".replace(" ", ", ")
        return f"{sizes}, {self.dtype}"

    def operations(self, head) -> float:
        """Of the three products: scores, gradient of the contexts, gradient of the words."""
        return 6.0 * self.rows * self.words * self.width * (4 if head.startswith("mix") else 1)


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


def loss_of(contender, head, device):
    """A function of h, w, y, prior and context."""
    import torch
    import torch.nn.functional as F

    if contender.startswith("nine"):
        from nine.torch import kernel_cross_entropy

        more = ("prior", "context") if head.startswith("mix") else ()
        memory = "least" if contender == "nine_least" else "blocks"
        return lambda h, w, y, prior, context: kernel_cross_entropy(
            h, w, y, head=head, memory=memory, **{k: v for k, v in zip(more, (prior, context))}
        )
    if contender in ("torch", "torch_compiled"):
        plain = plain_loss(head, torch, F)
        return torch.compile(plain) if contender == "torch_compiled" else plain
    if contender in ("torch_chunked", "torch_chunked_compiled"):
        options = torch.nn.LinearCrossEntropyOptions()

        def chunked(h, w, y, _prior, _context):
            return F.linear_cross_entropy(h, w, y, options=options)

        def mixture(h, w, y, prior, context):
            prior_log_p = F.log_softmax((h @ prior.T).float(), -1)
            parts = [
                F.linear_cross_entropy(torch.tanh(h @ c.T), w, y, reduction="none", options=options)
                for c in context
            ]
            return -torch.logsumexp(prior_log_p - torch.stack(parts, 1).float(), 1).mean()

        chosen = mixture if head.startswith("mix") else chunked
        return torch.compile(chosen) if contender.endswith("compiled") else chosen
    if contender == "liger":
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

        liger = LigerFusedLinearCrossEntropyLoss()
        return lambda h, w, y, _prior, _context: liger(w, h, y)
    if contender == "cce":
        from cut_cross_entropy import linear_cross_entropy

        impl = "torch_compile" if device == "cpu" else "cce"
        return lambda h, w, y, _prior, _context: linear_cross_entropy(h, w, y, impl=impl)
    raise ValueError(contender)


class CpuMemory:
    """Of a pass, by the process's resident size."""

    def begin(self) -> None:
        reset_peak()
        self.before = memory_mib("VmRSS")

    def peak(self) -> float:
        return memory_mib("VmHWM") - self.before

    def wait(self) -> None:
        pass


class GpuMemory:
    """Of a pass, by PyTorch's allocator."""

    def __init__(self, torch):
        self.cuda = torch.cuda

    def begin(self) -> None:
        self.cuda.reset_peak_memory_stats()
        self.before = self.cuda.memory_allocated()

    def peak(self) -> float:
        return (self.cuda.max_memory_allocated() - self.before) / 2**20

    def wait(self) -> None:
        self.cuda.synchronize()


def measure(contender, head, shape, threads, device) -> None:
    """In a process of its own: prints the loss and, for each line of standard input, milliseconds
    and MiB."""
    import torch

    torch.set_num_threads(threads)
    if contender.startswith("nine") and shape.dtype == "bfloat16":
        import nine

        nine.set_matmul_precision("medium")  # factors of bfloat16, as PyTorch's products have
    kind = getattr(torch, shape.dtype)

    def tensor(*sizes, scale):
        return torch.randn(sizes).mul_(scale).to(device, kind).requires_grad_()

    def problem(rows, words, width):
        torch.manual_seed(1)
        h = tensor(rows, width, scale=0.3)
        w = tensor(words, width, scale=0.1)
        y = torch.randint(words, (rows,)).to(device)
        prior = tensor(4, width, scale=0.1)
        context = tensor(4, width, width, scale=width**-0.5)
        return h, w, y, prior, context

    loss_function = loss_of(contender, head, device)

    def forget(tensors) -> None:
        for t in tensors:
            t.grad = None

    def run(tensors) -> float:
        forget(tensors)
        loss = loss_function(*tensors)
        loss.backward()
        return loss.item()

    long = shape.operations(head) > LONG
    tensors = problem(shape.rows, shape.words, shape.width)
    # The first pass imports, and compiles for this shape.
    small = long and not contender.endswith("compiled")
    first = run(problem(64, 500, shape.width) if small else tensors)
    print(json.dumps(first), flush=True)
    memory = CpuMemory() if device == "cpu" else GpuMemory(torch)
    for _ in sys.stdin:
        # The C library keeps some gradients' memory when they are freed; that is no part of a pass.
        forget(tensors)
        memory.begin()
        times = []
        for _ in range(1 if device == "cpu" else REPEATS):
            memory.wait()
            begin = time.perf_counter()
            loss = run(tensors)
            memory.wait()
            times.append(1000 * (time.perf_counter() - begin))
        print(json.dumps([loss, statistics.median(times), memory.peak()]), flush=True)


class Contender:
    def __init__(self, name, head, shape, threads, device):
        self.name, self.results = name, []
        command = [sys.executable, __file__, "--measure", name, "--head", head]
        command += ["--shape", shape.text, "--threads", str(threads), "--device", device]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.failed = False

    def wait(self) -> None:
        """Until the first pass is done."""
        self.failed = not self.process.stdout.readline()

    def run(self) -> None:
        if self.failed:
            return
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            self.results.append(json.loads(line))
        else:
            self.failed = True

    def why(self) -> str:
        """Why it failed: the last line that says something."""
        lines = [line for line in self.process.stderr.read().splitlines() if line.strip()]
        return lines[-1].strip()[:100] if lines else f"ended with {self.process.wait()}"

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def compare(head, shape, options, rate) -> list:
    """Returns the rows of the table of one head and shape."""
    place = f"{options.threads} threads" if options.device == "cpu" else options.device
    print(f"\n{head}, (N, V, d) = {shape}, {place}", flush=True)
    long = shape.operations(head) > LONG
    running = []
    for name in HEADS[head]:
        if name.endswith("compiled") and options.without_compiled:
            continue
        # The first computes what torch_chunked does, because torch.compile falls back there. The
        # second computes each component twice, and takes a minute.
        if name == "torch_chunked_compiled" and shape.operations(head) > 2e11:
            continue
        if name == "torch_chunked" and head != "lin" and shape.operations(head) > 1e12:
            continue
        contender = Contender(name, head, shape, options.threads, options.device)
        running.append(contender)
        if long:  # alone: several may not fit into memory
            contender.wait()
            contender.run()
            if not contender.failed:
                contender.end()
    if not long:
        for contender in running:
            contender.wait()
        for _ in range(options.rounds if shape.operations(head) < 1e12 else 1):
            for contender in running:
                contender.run()
    rows = []
    for contender in running:
        if contender.failed:
            why = contender.why()
            print(f"  {contender.name:24} left out: {why}")
            if options.json:
                print(json.dumps({"program": contender.name, "left_out": why}), flush=True)
            continue
        losses, times, peaks = zip(*contender.results)
        time_ms, peak = statistics.median(times), max(peaks)
        share = shape.operations(head) / (1e6 * time_ms * rate[shape.dtype]) if rate else None
        of_floor = "" if share is None else f"  {share:4.0%} of the floor"
        print(
            f"  {contender.name:24} {time_ms:10.1f} ms  {peak:9.0f} MiB{of_floor}"
            f"  loss {losses[0]:.5f}",
            flush=True,
        )
        rows.append((head, shape, contender.name, time_ms, peak, share))
        if options.json:
            figures = {
                "head": head,
                "shape": shape.text,
                "program": contender.name,
                "median_ms": time_ms,
                "best_ms": min(times),
                "worst_ms": max(times),
                "tflop_per_s": shape.operations(head) / (1e9 * time_ms),
                "mib": peak,
                "loss": losses[0],
            }
            print(json.dumps(figures), flush=True)
        if not long:
            contender.end()
    return rows


def machine_rates(build) -> dict:
    """GFLOP/s of products by type, measured by bench_gemm with a tile in cache."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/bench"))
    import rounds

    machine = rounds.machine_rates(build)
    single = machine["gflop_per_s"]
    return {"float32": single, "bfloat16": machine["pieces"].get("medium", single)}


def machine_text(options, rate) -> str:
    with open("/proc/cpuinfo", encoding="ascii") as file:
        cpu = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    packages = [f"nine-lm {importlib.metadata.version('nine-lm')}"]
    for package in ("torch", "liger-kernel", "cut-cross-entropy"):
        try:
            packages.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    text = f"{cpu}, {options.threads} threads, {datetime.date.today()}; {', '.join(packages)}."
    if rate:
        text += (
            f" bench_gemm measured {rate['float32']:.0f} GFLOP/s in float32 with a tile in cache, and"
            f" {rate['bfloat16']:.0f} in bfloat16."
        )
    return text


def markdown(rows, options, rate) -> str:
    lines = [textwrap.fill(machine_text(options, rate).strip(), 100), ""]
    lines.append("| head | (N, V, d) | program | ms | of the floor | MiB |")
    lines.append("|---|---|---|---|---|---|")
    for head, shape, name, time_ms, peak, share in rows:
        floor = "" if share is None else f"{share:.0%}"
        cells = [f"`{head}`", str(shape), NAMES[name], f"{time_ms:,.0f}", floor, f"{peak:,.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_page(page, table) -> None:
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    page.write_text(head + BEGIN + "\n" + table + END + rest.split(END)[1], encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", nargs="+", type=Shape, metavar="N,V,d[:TYPE]")
    parser.add_argument("--head", nargs="+", default=["lin", "mix:4*lin"], choices=list(HEADS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each figure too")
    parser.add_argument("--build", help="a build of Nine whose bench_gemm measures the floor")
    parser.add_argument("--page", type=pathlib.Path, help="the page whose table is replaced")
    parser.add_argument(
        "--without-compiled",
        action="store_true",
        help="leave torch.compile out, which takes a minute",
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    shapes = options.shape or [Shape(text) for text in SHAPES]
    if options.measure:
        measure(options.measure, options.head[0], shapes[0], options.threads, options.device)
        return
    if options.device != "cpu" and (options.build or options.page):
        parser.error("--build and --page are of the CPU's table")
    rate = machine_rates(options.build) if options.build else None
    rows = []
    for shape in shapes:
        for head in options.head:
            # A long pass of a mixture takes minutes.
            if options.shape or shape.operations(head) < LONG or head == "lin":
                rows += compare(head, shape, options, rate)
    if options.device != "cpu":
        sys.exit(0 if rows else "no contender ran")
    table = markdown(rows, options, rate)
    print("\n" + table)
    if options.page:
        write_page(options.page, table)


if __name__ == "__main__":
    main()
