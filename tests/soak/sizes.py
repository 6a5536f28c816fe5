"""Long and large: memory over 100,000 updates, lines of 200 MB, a million words."""
import json
import os
import subprocess
import time

from faults import Trainer, demand


def state_of(pid):
    """Resident MiB, descriptors and threads of a process."""
    fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    return (
        int(fields["VmRSS"].split()[0]) / 1024,
        len(os.listdir(f"/proc/{pid}/fd")),
        int(fields["Threads"]),
    )


def flat(build, directory, case):
    """After a tenth of the run nothing grows: memory by less than a MiB, descriptors and threads
    not at all."""
    seed = next(
        s
        for s in range(3000 + 100 * case, 4000)
        if Trainer(build, directory, s).translates == bool(case % 2)
    )
    trainer = Trainer(build, directory, seed)
    trainer.set(after="100000u", save_every="5000u", valid_every="5000u", log_every="500")
    process = trainer.start("long")
    samples = []
    while process.poll() is None:
        try:
            samples.append(state_of(process.pid))
        except (FileNotFoundError, ProcessLookupError, KeyError):
            break
        time.sleep(0.02)
    _, error = process.communicate()
    demand(process.returncode == 0, error.decode())
    demand(len(samples) > 100, "too short to tell:", len(samples), "samples")
    early, late = samples[: len(samples) // 10], samples[len(samples) // 10 : -2]
    grown = [max(s[i] for s in late) - max(s[i] for s in early) for i in range(3)]
    demand(
        grown[0] < 1 and grown[1] <= 1 and grown[2] <= 0,
        "grown by",
        grown,
        "MiB, descriptors, threads",
    )
    return {
        "counted": {
            "updates": 100000,
            "most MiB": round(max(s[0] for s in samples), 1),
            "most MiB grown": round(max(0, grown[0]), 2),
            "most descriptors": max(s[1] for s in samples),
            "most threads": max(s[2] for s in samples),
        }
    }


def run(build, program, *options, stdin=None, refused=""):
    """Runs a program; its seconds and peak of resident MiB. `refused`: it is to end with 1 and an
    error that says this."""
    start = time.time()
    with open(stdin or os.devnull) as source:
        process = subprocess.Popen(
            [os.path.join(build, "bin", program), *options],
            stdin=source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    demand(
        os.waitstatus_to_exitcode(status) == (1 if refused else 0) and refused in error.decode(),
        program,
        *options,
        "status",
        status,
        error.decode()[-2000:],
    )
    return {
        f"{program} seconds": round(time.time() - start, 1),
        f"most MiB of {program}": round(usage.ru_maxrss / 1024),
    }


def long_line(directory):
    """200 MB of words without an end of line."""
    path = os.path.join(directory, "line.txt")
    words = [f"w{i * i % 4999}" for i in range(20000)]
    block = " ".join(words) + " "
    with open(path, "w") as out:
        for _ in range(200_000_000 // len(block) + 1):
            out.write(block)
        out.write("end\n")
    return path


def small_model(build, directory, train):
    text = os.path.join(directory, "small.txt")
    with open(text, "w") as out:
        for i in range(2000):
            out.write(" ".join(f"w{(i * 7 + j * j) % 4999}" for j in range(10)) + "\n")
    options = [
        "--train",
        train or text,
        "--valid",
        text,
        "--hidden",
        "8",
        "--embed",
        "8",
        "--layers",
        "1",
        "--after",
        "2u",
        "--run",
        os.path.join(directory, "run"),
    ]
    return run(build, "lm_train", *options), text


def train_on_line(build, directory):
    return small_model(build, directory, long_line(directory))[0]


def score_line(build, directory):
    small_model(build, directory, None)
    return run(
        build,
        "lm_score",
        "--checkpoint",
        os.path.join(directory, "run"),
        "--input",
        long_line(directory),
    )


def cut_line(build, directory):
    line, codes = long_line(directory), os.path.join(directory, "codes")
    counted = run(build, "bpe", "learn", "--input", line, "--merges", "500", "--output", codes)
    for key, value in run(
        build,
        "bpe",
        "apply",
        "--codes",
        codes,
        "--input",
        line,
        "--output",
        os.path.join(directory, "cut"),
    ).items():
        counted[key.replace("bpe", "bpe apply")] = value
    size = [os.path.getsize(os.path.join(directory, name)) for name in ("line.txt", "cut")]
    demand(size[1] >= size[0], "what bpe apply wrote is shorter than its input")
    return counted


def translate_line(build, directory):
    """A line of 200 MB is no sentence: it is refused with what to do."""
    trainer = next(
        t for t in (Trainer(build, directory, s) for s in range(3000, 4000)) if t.translates
    )
    trainer.finish("whole")
    return run(
        build,
        "mt_translate",
        "--checkpoint",
        trainer.path("whole"),
        "--input",
        long_line(directory),
        "--max-length",
        "20",
        "--output",
        os.path.join(directory, "out"),
        refused="cut it into several lines",
    )


def million_words(build, directory, head):
    text = os.path.join(directory, "words.txt")
    with open(text, "w") as out:
        for i in range(100_000):
            out.write(" ".join(f"word{i * 10 + j}" for j in range(10)) + "\n")
    part = os.path.join(directory, "part.txt")
    with open(text) as lines, open(part, "w") as out:
        out.writelines(line for _, line in zip(range(1000), lines))
    model = os.path.join(directory, "run")
    counted = run(
        build,
        "lm_train",
        "--train",
        text,
        "--valid",
        part,
        "--hidden",
        "16",
        "--embed",
        "16",
        "--layers",
        "1",
        "--head",
        head,
        "--batch",
        "10",
        "--bptt",
        "10",
        "--after",
        "3u",
        "--valid-every",
        "1e",
        "--run",
        model,
    )
    with open(os.path.join(model, "config.json")) as config:
        json.load(config)
    words = sum(1 for _ in open(os.path.join(model, "checkpoints", "latest", "dict.txt")))
    demand(words >= 1_000_000, "the dictionary has", words, "words")
    return counted


LARGE = [
    train_on_line,
    score_line,
    cut_line,
    translate_line,
    lambda b, d: million_words(b, d, "lin"),
    lambda b, d: million_words(b, d, "mix2"),
]


def large(build, directory, case):
    return {"counted": LARGE[case](build, directory)}
