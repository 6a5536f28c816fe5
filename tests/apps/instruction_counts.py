#!/usr/bin/env python3
"""Holds the instructions of steps and of bpe to a table, within 3%: a loss of speed that no noise
hides.

  instruction_counts.py BIN_DIR            compares with instruction_counts.json beside this file
  instruction_counts.py BIN_DIR --write    writes the table: a commit that changes a count says why

Counted by valgrind, which imitates a CPU with AVX2, on one thread: of a step, what two steps need
more than one; of bpe, what a text needs more than its first line. Every kernel has a step of its
own. Exit 0 fine, 1 more or fewer than 3% away or no valgrind, 77 skipped: another compiler than the
table's.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instruction_counts.json")
TOLERANCE = 0.03
TRANSFORMER = "--dim 64 --ffn 128 --heads 4 --layers 1"
LM = "bench_lm --vocab 2000 --batch 10 --bptt 10"
GENERATE = f"bench_generate --vocab 1000 {TRANSFORMER} --texts 8 --length 10"
STEPS = {
    "mos": f"{LM} --dim 64 --layers 1 --head mos --components 4",
    "transformer": f"{LM} --arch transformer {TRANSFORMER}",
    "mt": f"bench_mt --vocab 1000 {TRANSFORMER} --sentences 8 --length 10",
    "generate": GENERATE,
    "translate": f"{GENERATE} --arch mt --top-k 10",
}


def kernels(bin_dir):
    """The kernels in the table that kernel_inspect prints: a line of a name and S."""
    table = subprocess.run(
        [os.path.join(bin_dir, "kernel_inspect")], capture_output=True, text=True, check=True
    ).stdout
    return re.findall(r"^(\w+) +S = ", table, re.MULTILINE)


def compiler(binary):
    """What compiled a program, by the notes that compilers leave in it; those of CUDA's runtime
    (Red Hat's) say nothing."""
    note = subprocess.run(
        ["readelf", "-p", ".comment", binary], capture_output=True, text=True, check=True
    ).stdout
    return sorted(
        {name for name in re.findall(r"(GCC: .*|clang version .*)", note) if "Red Hat" not in name}
    )


def instructions(*command):
    environment = {**os.environ, "NINE_ISA": "avx2", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
        env=environment,
        capture_output=True,
        text=True,
    )
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout}\n{run.stderr}")
    return int(re.search(r"Collected : (\d+)", run.stderr).group(1))


def step(bin_dir, command):
    name, *options = command.split()

    def steps(count):
        run = f"--threads 1 --warmup 0 --steps {count}".split()
        return instructions(os.path.join(bin_dir, name), *options, *run)

    return steps(2) - steps(1)


def write_texts(directory):
    """Writes a text of 4,000 lines whose words repeat as words do, and its first line."""
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "ei", "ou")]

    def word(i):
        return "".join(syllables[(i * k + k) % len(syllables)] for k in range(1, 2 + i % 4))

    lines = [
        " ".join(word((i * i + 7 * j * j) % (50 if j % 2 else 3000)) for j in range(12))
        for i in range(4000)
    ]
    for name, text in (("text", lines), ("line", [word(1)])):
        with open(os.path.join(directory, name), "w") as out:
            out.writelines(line + "\n" for line in text)


def bpe(bin_dir, directory, *command):
    """What a command needs for the text more than for the line. $TEXT and $OUT stand for files."""

    def run(text):
        out = os.path.join(directory, f"{command[0]}.{text}")
        files = {"$TEXT": os.path.join(directory, text), "$OUT": out}
        arguments = [files.get(word, word) for word in command]
        return instructions(os.path.join(bin_dir, "bpe"), *arguments, "--num-workers", "1")

    return run("text") - run("line")


def main():
    bin_dir = sys.argv[1]
    if not shutil.which("valgrind") or not shutil.which("readelf"):
        print("valgrind or readelf is not installed: make check installs them")
        return 1
    made_by = compiler(os.path.join(bin_dir, "bench_lm"))
    table = json.load(open(TABLE)) if os.path.exists(TABLE) else {}
    writes = "--write" in sys.argv
    if not writes and table["compiler"] != made_by:
        print("skipped: the table is", table["compiler"], "and this build is", made_by)
        return 77
    steps = {name: f"{LM} --dim 64 --layers 1 --head {name}" for name in kernels(bin_dir)} | STEPS
    with tempfile.TemporaryDirectory() as directory:
        write_texts(directory)
        codes = os.path.join(directory, "codes")
        learn = ["learn", "--input", os.path.join(directory, "text"), "--merges", "1000"]
        subprocess.run([os.path.join(bin_dir, "bpe"), *learn, "--output", codes], check=True)
        of_bpe = {
            "bpe": ["apply", "--codes", codes, "--input", "$TEXT", "--output", "$OUT"],
            "bpe_learn": "learn --bytes --vocab-size 400 --input $TEXT --output $OUT".split(),
        }
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            counts = {name: pool.submit(step, bin_dir, command) for name, command in steps.items()}
            for name, command in of_bpe.items():
                counts[name] = pool.submit(bpe, bin_dir, directory, *command)
            counts = {name: count.result() for name, count in counts.items()}
    if writes:
        with open(TABLE, "w") as out:
            json.dump({"compiler": made_by, "instructions": counts}, out, indent=1)
            out.write("\n")
    failed = False
    for name, count in counts.items():
        was = count if writes else table["instructions"].get(name)
        if was is None:
            failed = True
            print(f"{name:11} {count:>13,} instructions, but the table has no such count")
            continue
        ratio = count / was
        failed = failed or abs(ratio - 1) > TOLERANCE
        print(f"{name:11} {count:>13,} instructions, {ratio:.4f} of the table's {was:,}")
    if failed:
        print(
            f"more than {TOLERANCE:.0%} away. Where it is meant: {sys.argv[0]} BIN_DIR --write, and the commit says why"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
