#!/usr/bin/env python3
"""Hours of faults: not part of CTest. What was run and found is in docs/reliability.md.

  soak.py BUILD kills   [--until 1000]     trainers killed at random moments, a third of them between two writes of a
                                           checkpoint or log, then resumed to the bits of a run that nobody disturbed
  soak.py BUILD flat    [--until 2]        memory, descriptors and threads over 100,000 updates of each trainer
  soak.py BUILD clock   [--until 8]        the system's clock jumping by hours while a run goes on (libfaketime)
  soak.py BUILD threads [--until 12]       64 threads on the cores there are, against one
  soak.py BUILD large   [--until 6]        a line of 200 MB; a vocabulary of a million words
  soak.py BUILD fuzz    [--until 104]      eight million inputs in eight cases, over all fuzzers (BUILD is clang's, -DNINE_FUZZ=ON)
  soak.py BUILD table                      what the records hold, as docs/reliability.md prints it

A case is a number, and everything in it follows from that number: `--case N` runs one alone. Cases
that are recorded as good are not run again, so that the same command goes on where it was stopped;
`--from N` starts later. Records: BUILD/soak.jsonl. Exit status 1 when a case failed; its directory
is kept, and its command printed.
"""
import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults  # noqa: E402
import fuzzing  # noqa: E402
import sizes  # noqa: E402

PARTS = {
    "kills": (faults.kill, 1000),
    "flat": (sizes.flat, 2),
    "clock": (faults.clock, 8),
    "threads": (faults.threads, 12),
    "large": (sizes.large, len(sizes.LARGE)),
    "fuzz": (fuzzing.fuzz, 104),
}


def machine():
    with open("/proc/cpuinfo") as info:
        model = next(
            (line.split(":")[1].strip() for line in info if line.startswith("model name")),
            platform.machine(),
        )
    return f"{model}, {os.cpu_count()} cores"


def read_records(path):
    if not os.path.exists(path):
        return []
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def run_case(build, part, case, keep):
    """One case in a directory of its own, which stays when the case fails."""
    directory = tempfile.mkdtemp(
        prefix=f"nine-{part}-{case}-", dir="/dev/shm" if part in ("kills", "threads") else None
    )
    start = time.time()
    record = {"part": part, "case": case}
    try:
        record.update(PARTS[part][0](build, directory, case))
        record["ok"] = True
    except faults.Wrong as wrong:
        record.update(ok=False, found=str(wrong), directory=directory)
    record["seconds"] = round(time.time() - start, 1)
    if record["ok"] and not keep:
        shutil.rmtree(directory)
    return record


def table(records):
    """Per part: cases, hours, what was found, and the sums of the numbers that cases report."""
    print(
        "| part | cases | processor hours, about | found | what was counted |\n|---|---|---|---|---|"
    )
    for part in PARTS:
        last = {r["case"]: r for r in records if r["part"] == part}.values()
        if not last:
            continue
        counted = {}
        for r in last:
            for key, value in r.get("counted", {}).items():
                largest = key.startswith("most ")
                counted[key] = (
                    max(counted.get(key, 0), value) if largest else counted.get(key, 0) + value
                )
        hours = sum(r["seconds"] for r in last) / 3600
        wrong = [r["case"] for r in last if not r["ok"]]
        print(
            f"| {part} | {len(last)} | {hours:.2f} | {wrong or 'nothing'} | "
            + ", ".join(f"{key} {value:,}" for key, value in sorted(counted.items()))
            + " |"
        )


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("part", choices=[*PARTS, "table"])
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--until", type=int)
    parser.add_argument("--case", type=int)
    parser.add_argument("--keep", action="store_true", help="keep directories of good cases too")
    o = parser.parse_args()
    o.build = os.path.abspath(o.build)
    path = os.path.join(o.build, "soak.jsonl")
    records = read_records(path)
    if o.part == "table":
        print(machine())
        return table(records)
    done = {r["case"] for r in records if r["part"] == o.part and r["ok"]}
    cases = (
        [o.case]
        if o.case is not None
        else [c for c in range(o.first, o.until or PARTS[o.part][1]) if c not in done]
    )
    failed = 0
    for case in cases:
        record = run_case(o.build, o.part, case, o.keep)
        with open(path, "a") as out:
            out.write(json.dumps(record) + "\n")
        if not record["ok"]:
            failed += 1
            print(
                f"{o.part} {case}: {record['found']}\n  {record['directory']}\n  {sys.argv[0]} {o.build} {o.part} --case {case}",
                flush=True,
            )
        elif case % 20 == 0 or o.part != "kills":
            print(
                f"{o.part} {case}: good, {record['seconds']} s {record.get('counted', '')}",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
