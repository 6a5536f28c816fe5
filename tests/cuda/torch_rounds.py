#!/usr/bin/env python3
"""Steps of PyTorch in all its variants beside Nine's, in alternating rounds, on a GPU.

  torch_rounds.py --programs BIN [--seconds 95] [--rounds 3] [--rows lin mos9 ...]

One process has all variants of PyTorch: each configuration of tests/bench/rounds.py (eager, fused
Adam, chunked linear cross-entropy, compiled with the loss) in bfloat16 (autocast), TF32 and
float32. A start of PyTorch takes longer than what is measured, and variants that take turns share
the card's clocks. Rows are those of gpu_steps.py. Prints a JSON line for each measurement at once:
row, who, precision, round, s_per_step (the median of its steps), peak_mib, loss; and at the end one
for each row and precision, with median, best and worst of the rounds. Variants are prepared in the
order of their worth until half of the seconds are used; those that are left out, and those that
fail, are named. Nine's programs run between, each in a process of its own.
"""
import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time

import gpu_steps

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, p) for p in ("../bench", "../../experiments/baselines")]
import common  # noqa: E402
import rounds  # noqa: E402
import torch  # noqa: E402
import torch_lm  # noqa: E402
import torch_mt  # noqa: E402

PROGRAMS = {"lm": torch_lm, "mt": torch_mt}


def parse():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--programs", required=True, metavar="BIN", help="folder of bench_lm, bench_mt")
    p.add_argument("--seconds", type=float, default=95, help="end by itself within so many")
    p.add_argument("--rounds", type=int, default=3, help="at most")
    p.add_argument("--steps", type=int, default=10, help="of a measurement")
    p.add_argument("--rows", nargs="+", default=list(gpu_steps.ROWS), choices=gpu_steps.ROWS)
    p.add_argument("--device", default="cuda")
    p.add_argument(
        "--more",
        default="",
        metavar="OPTIONS",
        help="further options of both programs, of a smaller model for a test",
    )
    return p.parse_args()


def wanted(rows, device):
    """(row, who, precision), the most wanted first."""
    precisions = [p for p in gpu_steps.PRECISIONS if p != "tf32" or device.startswith("cuda")]
    for precision in precisions:
        for row in rows:
            for who, flags in rounds.TORCH.items():
                if "--chunked" in flags and not gpu_steps.ROWS[row].chunked:
                    continue
                # To compile takes longest, and pays least where the products are slow. Adam that is
                # not fused is the link to the figures of November.
                if "--compile" in flags and precision == "fp32":
                    continue
                if who == "eager" and (row, precision) not in (("lin", "fp32"), ("lin", "tf32")):
                    continue
                yield row, who, precision


def options_of(row, o):
    """The row's options, with those of --more in place of its own."""
    words = [*gpu_steps.ROWS[row].options, *o.more.split()]
    return [w for pair in dict(zip(words[::2], words[1::2])).items() for w in pair]


def keep_variants_apart():
    """All variants have their forward pass from one function. torch.compile would take the shapes of
    a second model for a reason to compile for any shape, and the ninth model for one to give up."""
    config = torch._dynamo.config
    config.automatic_dynamic_shapes = False
    for limit in ("cache_size_limit", "recompile_limit"):  # the name depends on the release
        if hasattr(config, limit):
            setattr(config, limit, 256)


class Variant:
    """A model of PyTorch, and its steps."""

    def __init__(self, row, who, precision, o):
        self.key = {"row": row, "who": who, "precision": precision}
        program = PROGRAMS[gpu_steps.ROWS[row].program]
        words = [*options_of(row, o), *rounds.TORCH[who]]
        words += f"--device {o.device} --precision {precision} --steps {o.steps} --warmup 2".split()
        before = self.allocated()
        self.options = program.parse(words)
        self.device = common.set_machine(self.options)
        self.step, _ = program.prepare(self.options, self.device)
        self.done = 0
        self.run(self.options.warmup)  # compiles
        self.own = self.allocated() - before

    def allocated(self):
        return torch.cuda.memory_allocated() / 2**20 if torch.cuda.is_available() else 0.0

    def run(self, steps):
        common.set_machine(self.options)
        seconds, loss = common.seconds_of(
            self.step, range(self.done, self.done + steps), self.device
        )
        self.done += steps
        return seconds, loss

    def measure(self):
        self.run(1)  # after another model's turn
        others = self.allocated() - self.own
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        seconds, loss = self.run(self.options.steps)
        peak = common.peak_mib(self.device) - others
        return {"s_per_step": statistics.median(seconds), "peak_mib": peak, "loss": loss}


def nine(row, precision, o):
    program = os.path.join(o.programs, f"bench_{gpu_steps.ROWS[row].program}")
    word = gpu_steps.PRECISIONS[precision]
    words = [program, *options_of(row, o)]
    words += f"--device {o.device} --matmul-precision {word} --steps {o.steps} --warmup 2".split()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # Nine's pool takes a share of what is free
    environment = {**os.environ, **(gpu_steps.TF32 if precision == "tf32" else {})}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr or f"exit {done.returncode}")
    printed = json.loads(next(x for x in done.stdout.splitlines() if x.startswith("{")))
    return {key: printed[key] for key in ("s_per_step", "peak_mib", "loss")}


def said(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def table(seconds):
    """A line for each row and precision: median, best and worst of the rounds, in milliseconds."""
    for row, precision in dict.fromkeys((row, precision) for row, _, precision in seconds):
        of = {who: s for (r, who, p), s in seconds.items() if (r, p) == (row, precision)}
        figures = {
            who: {
                "median_ms": round(1e3 * statistics.median(s), 3),
                "best_ms": round(1e3 * min(s), 3),
                "worst_ms": round(1e3 * max(s), 3),
                "rounds": len(s),
            }
            for who, s in of.items()
        }
        line = {"row": row, "precision": precision, "rounds": figures}
        theirs = [f["median_ms"] for who, f in figures.items() if who != "nine"]
        if "nine" in figures and theirs:
            line["fastest_of_torch_over_nine"] = round(
                min(theirs) / figures["nine"]["median_ms"], 3
            )
        common.print_json(**line)


def main():
    o = parse()
    begin = time.monotonic()

    def used():
        return time.monotonic() - begin

    keep_variants_apart()
    variants, left_out, failed = [], [], []
    for row, who, precision in wanted(o.rows, o.device):
        name = f"{row}, {who}, {precision}"
        if used() > o.seconds / 2:
            left_out.append(name)
            continue
        try:
            start = used()
            variants.append(Variant(row, who, precision, o))
            print(f"{name}: ready after {used() - start:.1f} s", file=sys.stderr, flush=True)
        except (RuntimeError, SystemExit) as error:  # also: out of memory, no compiler
            failed.append({"name": name, "why": said(error)})
            gc.collect()
    common.print_json(
        system="torch " + torch.__version__,
        device=torch.cuda.get_device_name() if torch.cuda.is_available() else o.device,
        prepared=len(variants),
        left_out=left_out,
        failed=failed,
    )
    jobs = [
        (row, precision)
        for row in o.rows
        for precision in gpu_steps.PRECISIONS
        if any((v.key["row"], v.key["precision"]) == (row, precision) for v in variants)
    ]
    seconds, longest = {}, 0.0
    for number in range(o.rounds):
        start = used()
        if number > 0 and start + longest > o.seconds:
            break
        for row, precision in jobs:
            turns = [
                (v.key["who"], v.measure)
                for v in variants
                if (v.key["row"], v.key["precision"]) == (row, precision)
            ]
            turns.append(("nine", lambda r=row, p=precision: nine(r, p, o)))
            # Another begins in each round.
            for who, measure in turns[number % len(turns) :] + turns[: number % len(turns)]:
                if used() > o.seconds:
                    break
                line = {"row": row, "who": who, "precision": precision, "round": number}
                try:
                    figures = measure()
                except (RuntimeError, OSError) as error:
                    common.print_json(**line, failed=said(error))
                    continue
                common.print_json(**line, **figures)
                seconds.setdefault((row, who, precision), []).append(figures["s_per_step"])
        longest = max(longest, used() - start)
    table(seconds)
    return 1 if failed or not seconds else 0


if __name__ == "__main__":
    sys.exit(main())
