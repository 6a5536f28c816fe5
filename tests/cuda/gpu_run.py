#!/usr/bin/env python3
"""Runs the steps of gpu_steps.py on a GPU (docs/cuda.md, "On a GPU"); tests/gpu.sh starts it.

  gpu_run.py [STEP...]    all steps by priority, or those that are named
  gpu_run.py --list       the steps: priority, cap in seconds, what each decides

DEADLINE seconds (495) after the start nothing runs any more; a build on this machine comes before.
A step begins only if its cap is left, and is skipped by name otherwise. A command that takes longer
than its step may is ended with all its children. Nothing ends because something else failed.
OUT (build-gpu/out) has gpu.json, written anew after each command, and what each command printed,
written by the command itself: a run that is killed loses nothing. A run goes on from .gpu/gpu.json:
what succeeded at the same commit on the same GPU is kept and not run again. Exit status 1 if
anything failed or was left out.
"""
import ctypes
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import gpu_steps

BUILD = "build-gpu"
PACKED = ".gpu/bin"  # programs that were built elsewhere
GRACE = 2.0  # seconds between asking a process to end and killing it
CLOCKS = "timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_event_reasons.active"
SET_CHILD_SUBREAPER, SET_DEATH_SIGNAL = 36, 1  # of prctl


class Ended(Exception):
    """This run was told to end."""


def prctl(option, value):
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def commit():
    """The hash; "-dirty" behind it: of a tree with changes, whose results are not gone on from."""
    if os.path.exists(".gpu/commit"):  # what was packed; the other machine may have no git
        return open(".gpu/commit").read().strip()
    dirty = output_of("git", "status", "--porcelain", "--untracked-files=no")
    return output_of("git", "rev-parse", "HEAD") + ("-dirty" if dirty else "")


def gpu():
    query = "--query-gpu=name,driver_version,memory.total"
    return output_of("nvidia-smi", query, "--format=csv,noheader")


# --- processes


def children():
    """The processes that descend from this one and run, without the one that logs clocks."""
    parents = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:  # it has ended
            continue
        if state != "Z":
            parents[int(entry)] = int(parent)
    found, wanted = [], [os.getpid()]
    while wanted:
        above = wanted.pop()
        below = [p for p, parent in parents.items() if parent == above and p not in Clocks.own]
        found += below
        wanted += below
    return found


def end_children():
    """Ends what a command has left: its children, also those that have left its group or session."""
    for how, seconds in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        until = time.monotonic() + seconds
        while (left := children()) and time.monotonic() < until:
            for pid in left:
                try:
                    os.kill(pid, how)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
        if not left:
            return


class Clocks:
    """Clocks, power and what slows the card down, a line a second in OUT/clocks.csv."""

    own = set()

    def __init__(self, out):
        self.process = None
        if shutil.which("nvidia-smi"):
            with open(os.path.join(out, "clocks.csv"), "a") as log:
                self.process = subprocess.Popen(
                    ["nvidia-smi", f"--query-gpu={CLOCKS}", "--format=csv", "--loop=1"],
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    preexec_fn=lambda: prctl(SET_DEATH_SIGNAL, signal.SIGKILL),
                )
            Clocks.own.add(self.process.pid)

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


# --- what a command printed


def json_lines(text):
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:  # cut off in the middle
                pass
    return found


def profile_of(text):
    """The table of --profile: the card's rates, and the numbers of each op."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if m := re.match(
            r"profile: (\d+) steps; this (?:GPU|machine): (\S+) GFLOP/s .*, (\S+) GB/s", line
        ):
            columns = ("calls", "ms", "share", "gflop_per_s", "gb_per_s", "predicted", "roofline")
            ops = {}
            for row in lines[i + 2 :]:
                cells = row[22:].split()
                if len(cells) == len(columns):
                    ops[row[:22].strip()] = dict(
                        zip(columns, (float(c.rstrip("%")) for c in cells))
                    )
                elif len(cells) == 4 and row.startswith("all ops"):
                    ops["all ops"] = {"ms": float(cells[0]), "roofline": float(cells[3][:-1])}
                else:
                    break
            return {
                "steps": int(m[1]),
                "gflop_per_s": float(m[2]),
                "gb_per_s": float(m[3]),
                "ops": ops,
            }
    return None


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


# --- the record


class Record:
    """gpu.json, as it is at any moment."""

    def __init__(self, out, deadline):
        self.path = os.path.join(out, "gpu.json")
        self.now = {
            "commit": commit(),
            "gpu": gpu(),
            "nvcc": (
                re.findall(r"release [0-9.]+, V[0-9.]+", output_of("nvcc", "--version")) or [""]
            )[0],
            "began": time.strftime("%Y-%m-%d %H:%M:%S"),
            "deadline": deadline,
            "steps": [],
        }

    def kept(self):
        """What .gpu/gpu.json has of this commit and GPU, by step."""
        if not os.path.exists(".gpu/gpu.json") or self.now["commit"].endswith("-dirty"):
            return {}
        before = json.load(open(".gpu/gpu.json"))
        same = all(before.get(key) == self.now[key] for key in ("commit", "gpu"))
        return {s["name"]: s for s in before.get("steps", []) if same and s["result"] == "ok"}

    def begin(self, step):
        entry = {
            "name": step.name,
            "cap": step.cap,
            "date": time.strftime("%Y-%m-%d"),
            "seconds": 0,
            "result": "running",
            "commands": [],
        }
        self.now["steps"].append(entry)
        self.write()
        return entry

    def add(self, entry):
        self.now["steps"].append(entry)
        self.write()

    def failed(self):
        return [f"{s['name']}: {s['result']}" for s in self.now["steps"] if s["result"] != "ok"]

    def write(self):
        self.now["failed"] = self.failed()
        with open(self.path + ".tmp", "w") as out:
            json.dump(self.now, out, indent=1)
        os.replace(self.path + ".tmp", self.path)


def missing(needs):
    for need in needs:
        kind, _, name = need.rpartition(":")
        if kind == "python" and importlib.util.find_spec(name) is None:
            return f"no {name} for Python"
        if kind == "" and shutil.which(name) is None:
            return f"no {name}"
    return ""


def run_command(command, seconds, out):
    """Runs a command for so long at most, and ends what it leaves."""
    record = {"name": command.name, "exit": None, "seconds": 0}
    if lacking := missing(command.needs):
        return record | {"result": f"left out: {lacking}"}
    if seconds < 1:
        return record | {"result": "left out: no time"}
    words = [w.replace("{seconds}", str(int(max(seconds - 5, 1)))) for w in command.words]
    environment = dict(command.environment)
    base = os.path.join(out, re.sub(r"[^\w.-]+", "-", command.name))
    begin = time.monotonic()
    with open(base + ".out", "w") as stdout, open(base + ".err", "w") as stderr:
        stderr.write(" ".join(["===", *map("=".join, environment.items()), *words]) + "\n")
        stderr.flush()
        try:
            process = subprocess.Popen(
                words,
                stdout=stdout,
                stderr=stderr,
                stdin=subprocess.DEVNULL,
                env=os.environ | environment,
                start_new_session=True,
                preexec_fn=lambda: prctl(SET_DEATH_SIGNAL, signal.SIGKILL),
            )
        except OSError as error:
            return record | {"exit": 127, "result": f"failed: {error}"}
        try:
            code, result = process.wait(timeout=seconds), "ok"
            if code != 0:
                result = f"failed: exit {code}"
        except subprocess.TimeoutExpired:
            code, result = 124, f"cut off after {seconds:.0f} s"
        finally:
            end_children()
            process.wait()
    record |= {"exit": code, "seconds": round(time.monotonic() - begin, 1), "result": result}
    printed, said = read(base + ".out"), read(base + ".err")
    if lines := json_lines(printed):
        record["results"] = lines
    if profile := profile_of(said) or profile_of(printed):
        record["profile"] = profile
    if not lines or code != 0:
        record["tail"] = (printed + said).splitlines()[-12:]
    return record


def run_step(step, seconds, out, record):
    """Runs the commands of a step, one after another, for so long at most."""
    entry = record.begin(step)
    begin = time.monotonic()
    until = begin + seconds
    for command in step.commands:
        done = run_command(command, until - time.monotonic(), out)
        entry["commands"].append(done)
        entry["seconds"] = round(time.monotonic() - begin, 1)
        wrong = [c for c in entry["commands"] if c["result"] != "ok"]
        entry["result"] = "running" if len(entry["commands"]) < len(step.commands) else "ok"
        if wrong:
            entry["result"] = "; ".join(f"{c['name']}: {c['result']}" for c in wrong)
        record.write()
        if done["result"] != "ok":
            print(f"  {done['name']}: {done['result']}", flush=True)
            for line in done.get("tail", []):
                print(f"    {line}", flush=True)
    return entry


def build(out):
    """Programs where none were packed; false: they are not there."""
    if os.path.isdir(PACKED):
        return True
    arch = output_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
    arch = (arch.splitlines() or ["9.0"])[0].replace(".", "")
    configure = f"cmake -S . -B {BUILD} -G Ninja -DNINE_CUDA=ON -DNINE_CUDA_ARCHS={arch}".split()
    make = f"cmake --build {BUILD} -j {os.cpu_count()} --target".split()
    programs = "gpu_tests bench_lm bench_mt lm_train".split()
    for name, words in (("configure", configure), ("build", [*make, *programs])):
        done = run_command(gpu_steps.command(name, *words), 3600, out)
        print(f"{name}: {done['result']}, {done['seconds']} s", flush=True)
        printed = read(os.path.join(out, name + ".out"))
        if done["result"] != "ok" or "CUDA: not built" in printed:
            print("\n".join(printed.splitlines()[-25:]), flush=True)
            return False
    return True


def summary(record, began):
    rows = [
        f"{s['name']:12} {s['seconds']:7.1f} s of {s['cap']:3}  {s['result']}"
        for s in record.now["steps"]
    ]
    rows.append(
        f"{'all':12} {time.monotonic() - began:7.1f} s of {record.now['deadline']:3.0f}  "
        f"{len(record.failed())} failed or left out; {record.now['commit']}; {record.now['gpu']}"
    )
    return "\n".join(rows) + "\n"


def chosen(names):
    """The steps that are named, or all, in the order in which they run; and the folders."""
    bin_folder = PACKED if os.path.isdir(PACKED) else f"{BUILD}/bin"
    out, work = os.environ.get("OUT", f"{BUILD}/out"), f"{BUILD}/work"
    steps = sorted(gpu_steps.steps(bin_folder, work, out), key=lambda step: step.priority)
    unknown = set(names) - {s.name for s in steps}
    if unknown:
        sys.exit(
            f"no step {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in steps)}"
        )
    return [s for s in steps if not names or s.name in names], out, work


def run_all(steps, out, record, deadline):
    until = time.monotonic() + deadline
    kept = record.kept()
    for i, step in enumerate(steps):
        left = until - time.monotonic() - 2 * GRACE
        behind = sum(s.cap for s in steps[i + 1 :] if s.name not in kept)
        print(f"{step.name}: {left:.0f} s are left", flush=True)
        if step.name in kept:
            record.add(kept[step.name])
        elif left < step.cap:
            record.add(
                {
                    "name": step.name,
                    "cap": step.cap,
                    "seconds": 0,
                    "result": f"left out: {left:.0f} s were left",
                    "commands": [],
                }
            )
        else:
            run_step(step, max(step.cap, min(step.most, left - behind)), out, record)


def end(number, _frame):
    raise Ended(signal.Signals(number).name)


def main():
    if sys.argv[1:] == ["--list"]:
        for s in chosen([])[0]:
            print(f"{s.priority} {s.name:10} {s.cap:3} s  {s.decides}")
        return 0
    steps, out, work = chosen(sys.argv[1:])
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    os.makedirs(out, exist_ok=True)
    # Without a GPU that CUDA can use, tests fail instead of being skipped.
    os.environ["NINE_GPU_TESTS"] = "1"
    prctl(SET_CHILD_SUBREAPER, 1)  # what a command's children leave belongs to this process
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    deadline = float(os.environ.get("DEADLINE", "495"))
    record = Record(out, deadline)
    record.write()
    began, clocks = time.monotonic(), None
    try:
        if not build(out):
            record.now["steps"] = [{"name": "build", "cap": 0, "seconds": 0, "result": "failed"}]
        else:
            began = time.monotonic()
            clocks = Clocks(out)
            run_all(steps, out, record, deadline)
    except Ended as why:
        print(f"ended by {why}", flush=True)
        for entry in record.now["steps"]:
            if entry["result"] == "running":
                entry["result"] = f"ended by {why}"
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        end_children()
        if clocks is not None:
            clocks.end()
        record.write()
    text = summary(record, began)
    with open(os.path.join(out, "summary.txt"), "w") as file:
        file.write(text)
    print(text, end="", flush=True)
    return 1 if record.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
