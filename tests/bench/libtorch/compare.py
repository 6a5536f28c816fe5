#!/usr/bin/env python3
"""Nine's examples beside the same programs in PyTorch's C++ API: lines, time of a step, memory.

  compare.py NINE_EXAMPLES LIBTORCH_EXAMPLES [--updates N] [--rounds R] [--threads T]

NINE_EXAMPLES and LIBTORCH_EXAMPLES are the build folders of examples/ and of this folder. A step's
time is the median over R rounds of (time of 2N updates - time of N updates) / N, so that start and
data do not count; the rounds take turns. Memory is the largest resident set. Lines are those of the
source file with code, without blank lines and comments. Run it on a quiet machine.
"""
import argparse
import os
import statistics
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "../../../examples")


def lines(path):
    with open(path) as source:
        text = [line.strip() for line in source]
    return sum(1 for line in text if line and not line.startswith("//"))


def run(program, updates, threads):
    """Seconds and MiB of a run."""
    env = os.environ | {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    begin = time.monotonic()
    process = subprocess.Popen([program, str(updates)], stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode < 0:
        raise SystemExit(f"{program} was ended by signal {-process.returncode}")
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nine")
    parser.add_argument("libtorch")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    o = parser.parse_args()
    print("example   library   lines  ms a step  MiB")
    for example in ("digits", "char_gru", "vae"):
        programs = {
            "Nine": (os.path.join(o.nine, example), os.path.join(EXAMPLES, f"{example}.cpp")),
            "libtorch": (
                os.path.join(o.libtorch, example),
                os.path.join(HERE, f"{example}.cpp"),
            ),
        }
        steps = {name: [] for name in programs}
        memory = dict.fromkeys(programs, 0.0)
        for _ in range(o.rounds):
            for name, (program, _source) in programs.items():
                short, _ = run(program, o.updates, o.threads)
                long, peak = run(program, 2 * o.updates, o.threads)
                steps[name].append(1000 * (long - short) / o.updates)
                memory[name] = max(memory[name], peak)
        for name, (_program, source) in programs.items():
            print(
                f"{example:9} {name:9} {lines(source):5} {statistics.median(steps[name]):10.2f} "
                f"{memory[name]:4.0f}"
            )


if __name__ == "__main__":
    main()
