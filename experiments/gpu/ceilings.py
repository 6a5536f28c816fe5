#!/usr/bin/env python3
"""What a GPU reaches at most: bandwidth of a copy and of a sum, and rates of products by type.

The factors are random: a card multiplies constant numbers faster, because it needs less power.
Products are square, and of the shapes of the output layer at 4,480 rows, 30,000 words and 512
numbers: scores, gradient of the contexts, gradient of the words. Prints a JSON line for each; the
best of the repeats, and their median.
"""
import argparse
import json
import statistics
import sys
import time

import torch

SHAPES = {
    "square": (8192, 8192, 8192),
    "scores": (4480, 30000, 512),
    "dh": (4480, 512, 30000),
    "dw": (30000, 512, 4480),
}
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}


def seconds_of(work, repeats, device):
    times = []
    for i in range(repeats + 2):
        if device.type == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in "be")
            begin.record()
            work()
            end.record()
            end.synchronize()
            times.append(1e-3 * begin.elapsed_time(end))
        else:
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return times[2:]


def report(what, amount, unit, times):
    figures = {
        f"best_{unit}": round(amount / min(times), 1),
        f"median_{unit}": round(amount / statistics.median(times), 1),
    }
    print(json.dumps({"ceiling": what} | figures), flush=True)


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--device", default="cuda")
    p.add_argument("--divide", type=int, default=1, help="sizes by this, for a test")
    p.add_argument("--repeats", type=int, default=10)
    o = p.parse_args()
    device = torch.device(o.device)
    torch.manual_seed(1)
    elements = (1 << 30) // o.divide  # 4 GiB a tensor: beyond any cache
    x, y = (torch.rand(elements, device=device) for _ in "xy")
    z = torch.empty_like(x)
    gigabytes = 4e-9 * elements
    report("copy", 2 * gigabytes, "gb_per_s", seconds_of(lambda: z.copy_(x), o.repeats, device))
    add = seconds_of(lambda: torch.add(x, y, out=z), o.repeats, device)
    report("sum of two tensors", 3 * gigabytes, "gb_per_s", add)
    del x, y, z
    for name, (m, n, k) in SHAPES.items():
        m, n, k = (max(size // o.divide, 1) for size in (m, n, k))
        for kind, dtype in TYPES.items():
            torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
            a, b = torch.randn(m, k, device=device, dtype=dtype), torch.randn(
                k, n, device=device, dtype=dtype
            )
            c = torch.empty(m, n, device=device, dtype=dtype)
            times = seconds_of(lambda: torch.mm(a, b, out=c), o.repeats, device)
            report(f"{name} {m} x {n} x {k}, {kind}", 2e-12 * m * n * k, "tflop_per_s", times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
