"""Part Dec: CPU time of whole decoding, lin against each preset. Nothing is trained to the end:
after one update a model computes what any other of its shape does, and a limit on the length gives
every translation as many steps."""
import math
import os
import pathlib
import subprocess

from . import locks, machine, records, statistics, tables, training
from .text import sentences

HEADS = ("lin", "mos", "mixbig", "mix1", "mix2", "mix3", "mix4", "mix5")
ROUNDS, LINES, SENTENCES, STEPS = 5, 500, 40, 20
TASKS = {"lm": "scoring with lm_score", "beam": "mt_translate, beam 5"}
NAME = "Dec/rounds"


def check(command, **more):
    done = subprocess.run(
        [str(c) for c in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=machine.environment(command[0], command),
        **more,
    )
    if done.returncode:
        raise SystemExit(
            f"{pathlib.Path(command[0]).name} failed: {done.stdout.strip().splitlines()[-1]}"
        )


def cut(source, target, lines):
    with open(source, encoding="utf-8") as text:
        target.write_text("".join(line for _, line in zip(range(lines), text)), encoding="utf-8")
    return target


def prepare(programs, runs, data):
    """Texts and one model of each shape, after one update, under runs/Dec."""
    base = runs / "Dec"
    base.mkdir(parents=True, exist_ok=True)
    train, pairs = training.prepare(runs, data), data / "multi30k"
    cut(data / "captions" / "test.en", base / "score.en", LINES)
    cut(data / "captions" / "val.en", base / "valid.en", 20)
    if not (base / "codes").exists():
        both = base / "both"
        both.write_text(
            (pairs / "train.de").read_text(encoding="utf-8")
            + (pairs / "train.en").read_text(encoding="utf-8"),
            encoding="utf-8",
        )
        check(
            [
                programs / "bpe",
                "learn",
                "--merges",
                "10000",
                "--input",
                both,
                "--output",
                base / "codes",
            ]
        )
    for side in ("de", "en"):
        for name, lines in (("train", 10**9), ("val", 20), ("test2016", SENTENCES)):
            target = base / f"{name}.{side}"
            if not target.exists():
                cut(pairs / target.name, base / "part", lines)
                check(
                    [
                        programs / "bpe",
                        "apply",
                        "--codes",
                        base / "codes",
                        "--input",
                        base / "part",
                        "--output",
                        target,
                    ]
                )
    for head in HEADS:
        once = ["--head", head, "--after", "1u", "--threads", "1", "--keep", "1"]
        if not (base / f"lm-{head}" / "checkpoints" / "best").exists():
            check(
                [
                    programs / "lm_train",
                    "--train",
                    train,
                    "--valid",
                    base / "valid.en",
                    "--min-count",
                    "3",
                    "--hidden",
                    "256",
                    "--embed",
                    "256",
                    *once,
                    "--run",
                    base / f"lm-{head}",
                ]
            )
        if not (base / f"mt-{head}" / "checkpoints" / "best").exists():
            check(
                [
                    programs / "mt_train",
                    "--src",
                    base / "train.de",
                    "--tgt",
                    base / "train.en",
                    "--valid-src",
                    base / "val.de",
                    "--valid-tgt",
                    base / "val.en",
                    "--shared-vocab",
                    "--layers",
                    "3",
                    "--hidden",
                    "256",
                    "--ffn",
                    "512",
                    "--max-length",
                    str(STEPS),
                    *once,
                    "--run",
                    base / f"mt-{head}",
                ]
            )
    return base


def cpu_of(command, stdin=None):
    """CPU seconds of a program, and what it printed."""
    with subprocess.Popen(
        [str(c) for c in command],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=machine.environment(command[0], command),
    ) as child:
        printed = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{pathlib.Path(command[0]).name} failed")
    return usage.ru_utime + usage.ru_stime, printed


def measure(programs, base, task, head):
    if task == "lm":
        seconds, printed = cpu_of(
            [
                programs / "lm_score",
                "--checkpoint",
                base / f"lm-{head}",
                "--input",
                base / "score.en",
                "--threads",
                "1",
            ]
        )
        return seconds, sum(len(line) + 1 for line in sentences(base / "score.en"))
    seconds, printed = cpu_of(
        [
            programs / "mt_translate",
            "--checkpoint",
            base / f"mt-{head}",
            "--input",
            base / "test2016.de",
            "--beam",
            "5",
            "--max-length",
            str(STEPS),
            "--threads",
            "1",
        ]
    )
    return seconds, sum(len(line.split()) for line in printed.splitlines())


def go(context):
    """The rounds that have no record, each a line a head and task; another process that is at them
    is waited for."""
    with locks.held(context.runs / "Dec" / "worker.lock", context.late) as mine:
        if not mine:
            return
        record = records.named(NAME, context.folder)
        lines = (
            list(record.events)
            if record
            else [
                {
                    "event": "config",
                    "machine": machine.described(machine.environment("Dec", [])),
                    "lines": LINES,
                    "sentences": SENTENCES,
                    "steps": STEPS,
                }
            ]
        )
        done = record.last("round", "round", 0) if record else 0
        base = prepare(context.programs, context.runs, context.data)
        for number in range(done + 1, ROUNDS + 1):
            if context.late():
                return
            for head in HEADS if number % 2 else HEADS[::-1]:
                for task in TASKS:
                    seconds, tokens = measure(context.programs, base, task, head)
                    lines.append(
                        {
                            "event": "round",
                            "round": number,
                            "head": head,
                            "task": task,
                            "cpu_s": round(seconds, 4),
                            "tokens": tokens,
                        }
                    )
            records.keep((context.folder or records.NEW) / f"{NAME}.jsonl", lines)
            print(f"Dec: round {number} of {ROUNDS}", flush=True)


def times(folder=None):
    """{task: {head: [CPU seconds a token, by round]}}, empty without a record."""
    record = records.named(NAME, folder)
    found = {task: {head: [] for head in HEADS} for task in TASKS}
    for e in record.of("round") if record else []:
        found[e["task"]][e["head"]].append(e["cpu_s"] / e["tokens"])
    return found


def ratios(of_task, head):
    return [math.log(a / b) for a, b in zip(of_task[head], of_task["lin"])]


def verdict(_, folder=None):
    found = times(folder)
    rounds = len(found["lm"]["lin"])
    if not rounds:
        return "not run", tables.DASH
    overall = math.exp(
        statistics.mean(
            [statistics.mean(ratios(found[task], head)) for task in TASKS for head in HEADS[1:]]
        )
    )
    figure = f"geometric mean {overall:.2f} over seven presets, scoring and beam 5"
    if rounds < ROUNDS:
        return "undecided", f"{figure}; {rounds} of {ROUNDS} rounds"
    return ("reproduced" if 1.6 <= overall <= 2.5 else "not reproduced"), figure


def table(_, folder=None):
    found = times(folder)
    rounds = len(found["lm"]["lin"])
    lines = []
    for head in HEADS:
        line = [f"`{head}`"]
        for task in TASKS:
            xs = found[task][head]
            if not xs:
                line += ["not run", tables.DASH]
                continue
            line += [
                f"{1e6 * statistics.mean(xs):.0f}",
                (
                    "1"
                    if head == "lin"
                    else tables.with_interval(*statistics.ratio(ratios(found[task], head)))
                ),
            ]
        lines.append(line)
    for task, name in TASKS.items():
        if rounds:
            mean = math.exp(
                statistics.mean([statistics.mean(ratios(found[task], head)) for head in HEADS[1:]])
            )
            lines.append(
                [
                    f"geometric mean, {name}",
                    *(["", f"{mean:.2f}", "", ""] if task == "lm" else ["", "", "", f"{mean:.2f}"]),
                ]
            )
    made = tables.markdown(
        [
            "head",
            "scoring, µs of CPU a token",
            "ratio to lin",
            "beam 5, µs of CPU a subword",
            "ratio to lin",
        ],
        lines,
    )
    record = records.named(NAME, folder)
    machine = (
        f" One thread of {record.last('config', 'machine')}, beside other work." if record else ""
    )
    return (
        f"**{rounds} of {ROUNDS} rounds**; ratios paired by round, with Student's 95%"
        f" interval.{machine}\n\n{made}"
    )


def commands(_):
    return (
        "Again, into records of its own, which `experiments/table Dec --records runs/records`"
        " prints:\n\n    DATA=... experiments/run Dec --records runs/records"
    )
