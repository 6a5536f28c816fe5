"""Fuzzers by the million: each case goes on from the inputs that the earlier ones kept, in
BUILD/corpus. Eight cases are eight million."""
import os
import re
import subprocess

from faults import demand

# A case's inputs: what the readers take in about the same time.
INPUTS = {
    "bpe": 1_800_000,
    "config": 300_000,
    "dict": 800_000,
    "expression": 1_400_000,
    "json": 1_400_000,
    "n_best": 300_000,
    "safetensors": 1_000_000,
    "text": 1_000_000,
}
HERE = os.path.dirname(os.path.abspath(__file__))


def fuzz(build, directory, case):
    """Some inputs of one reader; the cases take the readers in turn. A crash leaves its input in
    the directory."""
    names = sorted(os.listdir(os.path.join(HERE, "../fuzz/corpus")))
    name = names[case % len(names)]
    grown, committed = os.path.join(build, "corpus", name), os.path.join(
        HERE, "../fuzz/corpus", name
    )
    os.makedirs(grown, exist_ok=True)
    process = subprocess.run(
        [
            os.path.join(build, "bin", "fuzz_" + name),
            f"-runs={INPUTS[name]}",
            f"-seed={case + 1}",
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-max_len=1024",
            "-print_final_stats=1",
            f"-artifact_prefix={directory}/",
            grown,
            committed,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    text = process.stderr.decode(errors="replace")
    demand(process.returncode == 0, name, "ended with", process.returncode, text[-3000:])
    return {"counted": {name: int(re.search(r"number_of_executed_units: (\d+)", text).group(1))}}
