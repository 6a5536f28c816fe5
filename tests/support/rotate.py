#!/usr/bin/env python3
"""Runs every N-th case of a test program, others with the next commit; all with NINE_EVERY_CASE=1,
as `.ci/run all` says.

  rotate.py N PROGRAM FILTER...   PROGRAM is doctest's, FILTERs are its own (--source-file=..., --test-suite-exclude=...)
"""
import os
import subprocess
import sys

from turn import turn

of, command = 1 if os.environ.get("NINE_EVERY_CASE") else int(sys.argv[1]), sys.argv[2:]
listed = subprocess.run(
    [*command, "--list-test-cases", "--no-version", "--no-colors=true"],
    capture_output=True,
    text=True,
    check=True,
).stdout
# Between a line of "===" and the program's own notes stands a case a line.
names = [line for line in listed.splitlines() if line and not line.startswith(("[doctest]", "==="))]
if not names:
    sys.exit(f"{' '.join(command)} has no cases: nothing would be tested")
chosen = names[turn(min(of, len(names))) :: of]
# A comma separates patterns, and ? stands for any character.
sys.exit(
    subprocess.run(
        [*command, "--test-case=" + ",".join(name.replace(",", "?") for name in chosen)]
    ).returncode
)
