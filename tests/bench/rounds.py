#!/usr/bin/env python3
"""Steps of bench_lm and bench_mt beside PyTorch's, in alternating rounds, each round beside the
machine's own floor.

  rounds.py BUILD PYTHON --record FILE.jsonl [--rounds 7] [--rows lm30 score ...]
  rounds.py table --record FILE.jsonl

PYTHON is an interpreter that has torch. Every round runs each command of each row once, one after
another; a figure is the program's own median of its steps. FILE gets a line for each command, and
the same command line resumes a stopped measurement. PyTorch runs in each configuration of TORCH
that the row allows. The table takes the fastest configuration and names it; its memory is the
smallest of all configurations. The table prints best and median of the rounds, the ratios of both,
and the share of the floor: operations at the rate that bench_gemm measured in that round with a
tile in cache, of float32 or of the precision's bfloat16 pieces, and bytes at its bandwidth, over
the measured time; floor and share are medians of the rounds. `high` and `medium` are run where the CPU has pieces for
them; `high` stands beside PyTorch's float32.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

BASELINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../experiments/baselines")
LM30, LM10 = ["--vocab", "30000"], ["--vocab", "10000"]
# Six layers, 2,048 tokens in windows of 128.
WINDOWS = ["--layers", "6", "--vocab", "30000", "--batch", "16", "--bptt", "128"]
GPT2 = ["--arch", "transformer", *WINDOWS]
# bench_lm's flags of lm_train --arch llama; torch_lm.py has the architecture by name.
LLAMA = [
    *GPT2,
    *"--ffn 1368 --positions rotary --norm-type rms --activation swiglu --no-linear-bias".split(),
]
TORCH_OPTIONS = {"llama": ["--arch", "llama", *WINDOWS]}
# The configurations of PyTorch, and their options. Adam is fused in all but the first.
TORCH = {
    "eager": [],
    "fused Adam": ["--fused"],
    "chunked": ["--fused", "--chunked"],
    "compiled": ["--fused", "--compile"],
    "compiled, chunked": ["--fused", "--compile", "--chunked"],
}
# The rows whose head and loss PyTorch's chunked linear cross-entropy has.
CHUNKED = ("lm30", "lm10", "score", "small", "gpt2", "llama")
# Row: what it is called, program, options (PyTorch's are those of TORCH_OPTIONS if it has the row),
# those that say how many steps, and the precisions that it is asked for.
ROWS = {
    "lm30": (
        "LM step, V = 30,000",
        "lm",
        LM30,
        ["--steps", "4", "--warmup", "1"],
        ("highest", "high", "medium"),
    ),
    "lm10": (
        "LM step, V = 10,000",
        "lm",
        LM10,
        ["--steps", "6", "--warmup", "1"],
        ("highest", "medium"),
    ),
    "score": (
        "scoring, V = 30,000",
        "lm",
        [*LM30, "--score"],
        ["--steps", "6", "--warmup", "1"],
        ("highest", "medium"),
    ),
    "mos": (
        "mos, K = 4",
        "lm",
        [*LM30, "--head", "mos", "--components", "4"],
        ["--steps", "2", "--warmup", "1"],
        ("highest",),
    ),
    "mt": (
        "translation step, 6 + 6",
        "mt",
        [],
        ["--steps", "2", "--warmup", "1"],
        ("highest", "medium"),
    ),
    "gpt2": (
        "Transformer LM step, GPT-2's shape",
        "lm",
        GPT2,
        ["--steps", "3", "--warmup", "1"],
        ("highest", "medium"),
    ),
    "llama": (
        "Transformer LM step, Llama's shape",
        "lm",
        LLAMA,
        ["--steps", "3", "--warmup", "1"],
        ("highest", "medium"),
    ),
    "small": (
        "small model, V = 1,000, d = 64",
        "lm",
        ["--vocab", "1000", "--dim", "64"],
        ["--steps", "100", "--warmup", "10"],
        ("highest",),
    ),
}


def operations(row):
    """10^9 operations of the products; gigabytes that Adam and the norm move
    (docs/performance-explained.md)."""
    if row == "mt":
        return 341.9, 41.8e6 * 32e-9
    if row in ("gpt2", "llama"):
        n, window, dim, layers, vocab = 2048, 128, 512, 6, 30000
        # The weights of a layer's maps: attention, and two or three of the feed-forward network.
        maps = 4 * dim * dim + (2 * dim * 4 * dim if row == "gpt2" else 3 * dim * 1368)
        # The backward pass of attention computes the scores again.
        products = 6 * n * (layers * maps + vocab * dim) + layers * 14 * n * window * dim
        return products * 1e-9, (layers * maps + 2 * vocab * dim) * 32e-9
    vocab, dim = (1000, 64) if row == "small" else (10000 if row == "lm10" else 30000, 512)
    n, layers, components = 1120, 2, 4 if row == "mos" else 1
    head = 2 * n * vocab * dim * components + (
        2 * n * dim * dim * components if components > 1 else 0
    )
    lstm = 16 * layers * n * dim * dim
    parameters = 2 * vocab * dim + layers * 8 * dim * dim
    return (
        ((head + lstm) * 1e-9, 0)
        if row == "score"
        else (3 * (head + lstm) * 1e-9, parameters * 32e-9)
    )


def run(command, environment=None):
    process = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=environment,
    )
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{process.stderr}")
    return process.stdout


def commands(build, python, row, pieces):
    """A row's commands: (who: "nine" or a configuration of TORCH, precision, command); `pieces`
    are the precisions that the CPU computes so."""
    _, program, options, steps, precisions = ROWS[row]
    for precision in precisions:
        if precision != "highest" and precision not in pieces:
            continue
        ours = [
            os.path.join(build, "bin", f"bench_{program}"),
            *options,
            *steps,
            "--matmul-precision",
            precision,
        ]
        theirs = [
            python,
            os.path.join(BASELINES, f"torch_{program}.py"),
            *TORCH_OPTIONS.get(row, options),
            *steps,
            *(["--precision", "bf16"] if precision == "medium" else []),
        ]
        yield "nine", precision, ours
        if precision == "high":
            continue
        for name, flags in TORCH.items():
            if "--chunked" not in flags or row in CHUNKED:
                yield name, precision, [*theirs, *flags]


def machine_rates(build):
    """GB/s of a triad and GFLOP/s of a tile in cache, of float32 and of pieces, from the first
    lines that bench_gemm prints."""
    lines = run(
        [
            os.path.join(build, "bin", "bench_gemm"),
            "--vocab",
            "1000",
            "--dim",
            "64",
            "--seconds",
            "0.02",
            "--blas",
            "none",
        ]
    )
    bytes_, tile = re.search(
        r"triad ([\d.]+) GB/s, one tile in cache ([\d.]+) GFLOP/s", lines
    ).groups()
    pieces = re.findall(
        r"^(\w+), in bfloat16 pieces in cache: ([\d.]+) GFLOP/s", lines, re.MULTILINE
    )
    return {
        "row": "floor",
        "gb_per_s": float(bytes_),
        "gflop_per_s": float(tile),
        "pieces": {precision: float(rate) for precision, rate in pieces},
    }


def collect(o):
    records = read(o.record)
    done = {(r["round"], *key(r)) for r in records}
    with open(o.record, "a", encoding="utf-8") as out:

        def keep(number, record):
            print(json.dumps({"round": number, **record}), file=out, flush=True)

        for number in range(o.rounds):
            machine = next(
                (r for r in records if (r["round"], r["row"]) == (number, "floor")), None
            )
            if machine is None:
                machine = machine_rates(o.build)
                keep(number, machine)
            for row in o.rows:
                for who, precision, command in commands(o.build, o.python, row, machine["pieces"]):
                    if (number, row, who, precision) not in done:
                        printed = json.loads(run(command).splitlines()[-1])
                        keep(number, {**printed, "row": row, "who": who, "precision": precision})


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def floor(row, record, machine):
    """Seconds that a step takes at the machine's rates."""
    gflop, gigabytes = operations(row)
    return (
        gflop / machine["pieces"].get(record["precision"], machine["gflop_per_s"])
        + gigabytes / machine["gb_per_s"]
    )


def milliseconds(times):
    return f"{min(times) * 1e3:.3g} / {statistics.median(times) * 1e3:.3g}"


def key(record):
    return record["row"], record.get("who"), record.get("precision")


def seconds(records):
    return [r["s_per_step"] for r in records]


def peak(records):
    return max(r["peak_mib"] for r in records)


def table(records):
    machines = {r["round"]: r for r in records if r["row"] == "floor"}
    print(
        "| work | precision | rounds | GFLOP | floor, ms | Nine, best / median, ms | PyTorch | times as fast | of the floor | MiB, Nine and PyTorch |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row, (name, *_, precisions) in ROWS.items():
        for precision in precisions:

            def of(who, asked):
                return [r for r in records if key(r) == (row, who, asked)]

            nine = of("nine", precision)
            asked = "highest" if precision == "high" else precision
            torch = {who: records_of for who in TORCH if (records_of := of(who, asked))}
            if not nine or not torch:
                continue
            ours = seconds(nine)
            fastest = min(torch, key=lambda who: statistics.median(seconds(torch[who])))
            theirs = seconds(torch[fastest])
            floors = [floor(row, r, machines[r["round"]]) for r in nine]
            share = f"{statistics.median(f / s for f, s in zip(floors, ours)):.0%}"
            ratio = f"{min(theirs) / min(ours):.2f} / {statistics.median(theirs) / statistics.median(ours):.2f}"
            least = min(map(peak, torch.values()))
            print(
                f"| {name} | {precision} | {len(ours)} | {operations(row)[0]:.1f} | "
                f"{statistics.median(floors) * 1e3:.3g} | {milliseconds(ours)} | "
                f"{milliseconds(theirs)} ({fastest}) | {ratio} | {share} | {peak(nine):,.0f}, {least:,.0f} |"
            )


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("build", help="a build's folder, or `table`")
    p.add_argument("python", nargs="?", default="python3", help="an interpreter that has torch")
    p.add_argument("--record", required=True)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--rows", nargs="*", choices=tuple(ROWS), default=tuple(ROWS))
    o = p.parse_args()
    if o.build != "table":
        collect(o)
    table(read(o.record))


if __name__ == "__main__":
    main()
