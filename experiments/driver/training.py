"""Trains what has no record: one run after the other, each resumable to the same bits."""
import os
import pathlib
import platform
import re
import resource
import signal
import subprocess
import time

from . import parts, projection, records, search, statistics

SECONDS_AN_EPOCH = 50  # of lin on S, one thread of a shared AVX2 core, where nothing has been measured yet


def all_parts():
    made = [parts.t1(search.best), parts.t2(), parts.m1(), parts.m2(), parts.t3(search.best), projection.part(), parts.m3(), parts.t3b(search.best)]
    return {p.name: p for p in made}


def missing(part, folder=None):
    """Runs without a record: of T1 the next steps of every kernel's search, or, when it is done, the seeds; one seed of every row, then the next."""
    if part.name in ("T1", "T3", "T3b"):  # the last two take T1's choices
        pending = [run for run in (search.state(kernel, folder)[2] for kernel in parts.LADDERS) if run]
        if pending:  # a ladder of a kernel before anybody's learning rate
            return sorted(pending, key=lambda run: " lr=" in run.row.label)
    return [run for seed in range(1, part.seeds + 1) for run in part.runs(seed) if not records.find(run, folder)]


def components(options):
    """How many components a head or a line of options has, by which an epoch's cost grows."""
    head = re.search(r"(?:--head )?(mos|mix:\S+|\S+)", options).group(1)
    if head == "mos":
        return 9
    return sum(int(c.partition("*")[0]) if "*" in c else 1 for c in head[4:].split(",")) if head.startswith("mix:") else 1


def cost(options):
    """An epoch's cost, one kernel's being 1: in Dec's scoring four components cost about 2.4 and nine 4.3."""
    return 1 + 0.43 * (components(options) - 1)


def typical(part):
    """CPU seconds of a run of a part: the mean over all records an epoch, by the number of components, else the constant above."""
    measured = []
    for path in records.RECORDS.glob("*/*.jsonl"):
        record = records.Record(path)
        if record.last("config", "cpu_s"):
            measured.append(record.last("config", "cpu_s") / record.last("done", "epoch") / cost(record.last("config", "options")["head"]))
    of_part = statistics.mean([cost(row.options) for row in part.rows])
    return (statistics.mean(measured) if measured else SECONDS_AN_EPOCH) * part.epochs * of_part


def seconds(run):
    return typical(parts.Part("", "", run.epochs, 1, (run.row,)))


def machine():
    """The class of the machine, no name of its own."""
    try:
        model = next(line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{model}, {os.cpu_count()} cores"


def prepare(runs, data):
    text = runs / "train-10000.en"
    if not text.exists():
        text.parent.mkdir(parents=True, exist_ok=True)
        with open(data / "captions" / "train.en", encoding="utf-8") as lines:
            text.write_text("".join(line for _, line in zip(range(10000), lines)), encoding="utf-8")
    return text


def train(run, programs, runs, data, deadline, folder=None):
    """True when the run is finished and recorded, False when the deadline came first: what it lost is trained again, to the same bits."""
    directory = runs / run.name
    directory.mkdir(parents=True, exist_ok=True)
    text = prepare(runs, data)
    command = [str(programs / "lm_train"), "--train", str(text), "--valid", str(data / "captions" / "val.en"), "--test", str(data / "captions" / "test.en"),
               *run.arguments, "--keep", "1", "--save-every", "25u", "--run", str(directory)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(directory / "out.txt", "a") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            child.wait(None if deadline is None else max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            child.send_signal(signal.SIGTERM)
            child.wait()
            raise
        code = child.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = directory / "cpu_s"  # of all the run's beginnings and goings on
    cpu = (float(spent.read_text()) if spent.exists() else 0.0) + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    spent.write_text(f"{cpu:.1f}\n")
    if code == 0 and '"event":"done"' in (directory / "log.jsonl").read_text():
        records.write(run, directory, machine(), cpu, folder)
        return True
    if code > 0 and (deadline is None or time.monotonic() < deadline):
        tail = (directory / "out.txt").read_text().strip().splitlines()[-2:]
        raise SystemExit(f"{run.name} failed: {' '.join(tail)}")
    return False


def go(name, programs, runs, data, minutes, folder=None, only=None):
    """Trains a part until nothing is missing or time is up; `only` is a row's label."""
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    while True:
        part = all_parts()[name]
        todo = [run for seed in range(1, part.seeds + 1) for run in part.runs(seed) if run.row.label == only and not records.find(run, folder)] if only else \
            missing(part, folder)
        if not todo:
            print(f"{name}: nothing is missing")
            return
        hours = sum(seconds(run) for run in todo) / 3600
        print(f"{time.strftime('%H:%M:%S')} {name}: {len(todo)} runs are missing, about {hours:.1f} core-hours; next {todo[0].name}", flush=True)
        if deadline is not None and time.monotonic() >= deadline or not train(todo[0], pathlib.Path(programs), pathlib.Path(runs), pathlib.Path(data), deadline, folder):
            print(f"{time.strftime('%H:%M:%S')} {name}: time is up; the same command goes on", flush=True)
            return
