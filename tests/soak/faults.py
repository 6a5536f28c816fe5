"""Trainers under faults: kills, a jumping clock, many threads. Each case is compared with a run
that nobody disturbed."""
import json
import os
import random
import signal
import subprocess
import threading
import time

LM_HEADS = [
    "lin",
    "log",
    "pow",
    "pol",
    "rbf",
    "ssg",
    "mog",
    "hpb",
    "wav",
    "sig",
    "mix2",
    "mos",
    "mix:lin,log",
    "hpb:ball=tanh",
]
PRECISIONS = [
    [],
    [],
    ["--dtype", "float64"],
    ["--matmul-precision", "medium"],
    ["--matmul-precision", "high"],
]
OPTIMIZERS = [
    ["--optimizer", "adam"],
    ["--optimizer", "adamw"],
    ["--optimizer", "sgd", "--lr", "0.05"],
    ["--optimizer", "asgd", "--asgd-start", "20", "--lr", "0.05"],
]
TIMES = ("time_s", "tokens_per_s", "ms_per_step", "peak_mib", "threads")


class Wrong(Exception):
    """A case found something."""


def demand(holds, *what):
    if not holds:
        raise Wrong(" ".join(str(w) for w in what))


def sentences(count):
    some = [
        "the cat saw the dog",
        "a dog ran",
        "the bird saw a cat and ran",
        "the dog and the bird ran",
    ]
    return "".join(some[(i * i + i // 3) % 4] + "\n" for i in range(count))


class Trainer:
    """A trainer with texts of its own in `directory`, and the options that follow from `seed`."""

    def __init__(self, build, directory, seed):
        pick = random.Random(f"configuration {seed}")
        self.build, self.directory = build, directory
        train, valid = self.path("train.txt"), self.path("valid.txt")
        for file, count in ((train, 300), (valid, 40)):
            with open(file, "w") as out:
                out.write(sentences(count))
        head = pick.choice(LM_HEADS)
        self.translates = pick.random() < 0.5
        if self.translates:
            self.program = "mt_train"
            self.options = [
                "--src",
                train,
                "--tgt",
                train,
                "--valid-src",
                valid,
                "--valid-tgt",
                valid,
                "--hidden",
                "8",
                "--ffn",
                "8",
                "--heads",
                "2",
                "--layers",
                "1",
                "--batch",
                "8",
                "--warmup",
                "0",
            ]
        else:
            self.program = "lm_train"
            self.options = [
                "--train",
                train,
                "--valid",
                valid,
                "--hidden",
                "8",
                "--embed",
                "8",
                "--layers",
                "1",
                "--batch",
                "4",
                *(["--sentences"] if pick.random() < 0.3 else ["--bptt", "8"]),
            ]
        self.options += [
            "--head",
            head,
            *pick.choice(PRECISIONS),
            *pick.choice(OPTIMIZERS),
            "--dropout",
            pick.choice(["0", "0.2"]),
            "--accumulate",
            pick.choice(["1", "2"]),
            "--threads",
            pick.choice(["1", "2"]),
            "--seed",
            str(seed),
            "--after",
            "90u",
            "--save-every",
            "3u",
            "--valid-every",
            "30u",
            "--log-every",
            "10",
        ]
        if "--lr" not in self.options:
            self.options += ["--lr", "0.01"]
        # Where the CPU has no tiles for bfloat16, their emulation computes.
        self.environment = (
            {**os.environ, "NINE_BF16_TILES": "emulated"}
            if "--matmul-precision" in self.options
            else dict(os.environ)
        )

    def set(self, **values):
        """Sets options that a configuration has already, by their names with underscores."""
        for name, value in values.items():
            self.options[self.options.index("--" + name.replace("_", "-")) + 1] = value

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, run, options=(), environment=None, directory=None):
        return subprocess.Popen(
            [
                os.path.join(self.build, "bin", self.program),
                *self.options,
                "--run",
                self.path(run),
                *options,
            ],
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=directory or self.directory,
        )

    def finish(self, run, options=(), environment=None):
        """Runs to the end, or on to it."""
        process = self.start(run, options, environment)
        _, error = process.communicate(timeout=600)
        demand(
            process.returncode == 0,
            self.program,
            *self.options,
            *options,
            "exit",
            process.returncode,
            error.decode(),
        )

    def weights(self, run):
        files = [
            os.path.join(self.path(run), "checkpoints/latest", f"{kind}.safetensors")
            for kind in ("model", "optimizer")
        ]
        return [open(file, "rb").read() for file in files]

    def results(self, run):
        """The log without times, rates and notes of having been resumed."""
        events = [json.loads(line) for line in open(os.path.join(self.path(run), "log.jsonl"))]
        return [
            {k: v for k, v in e.items() if k not in TIMES} for e in events if e["event"] != "resume"
        ]

    def check_same(self, run, whole="whole"):
        demand(
            self.weights(run) == self.weights(whole),
            self.program,
            *self.options,
            ": other weights or moments",
        )
        demand(
            self.results(run) == self.results(whole), self.program, *self.options, ": another log"
        )


def kill(build, directory, case):
    """Twenty cases in a row have one configuration. Every third kill falls between two writes to
    the disk, at a call that the case's number chooses; the others at a moment of the clock."""
    trainer = Trainer(build, directory, case // 20)
    pick = random.Random(f"kill {case}")
    start = time.time()
    trainer.finish("whole")
    whole = time.time() - start
    if case % 3 == 0:
        preload = {
            "LD_PRELOAD": next(
                p
                for p in (
                    os.path.join(build, "lib/libnine_fail_calls.so"),
                    os.path.join(build, "tests/libnine_fail_calls.so"),
                )
                if os.path.exists(p)
            )
        }
        counting = trainer.path("counting")
        os.mkdir(counting)
        process = trainer.start(
            "counted", environment={**preload, "NINE_FAILING": "kill count"}, directory=counting
        )
        demand(process.wait(600) == 0, "a counted run failed")
        calls = int(open(os.path.join(counting, "calls")).read())
        at = pick.randrange(1, calls + 1)
        process = trainer.start(
            "broken",
            environment={**preload, "NINE_FAILING": f"kill {at} {at + 1} 1"},
            directory=counting,
        )
        demand(process.wait(600) == 0, "the run's parent failed")
        status = int(open(os.path.join(counting, str(at), "status")).read())
        demand(status == signal.SIGKILL, "call", at, "of", calls, "was not reached: status", status)
    else:
        process = trainer.start("broken")
        time.sleep(pick.random() * whole)
        process.kill()
        process.communicate()
    torn = any(
        name.startswith(".tmp-")
        for name in (
            os.listdir(trainer.path("broken/checkpoints"))
            if os.path.exists(trainer.path("broken/checkpoints"))
            else []
        )
    )
    trainer.finish("broken")
    trainer.check_same("broken")
    return {
        "counted": {"kills": 1, "with a checkpoint half written": int(torn), trainer.program: 1}
    }


def clock(build, directory, case):
    """The clock of the day jumps by up to two days, five times a second, to and fro; the steady
    clock does not."""
    library = next(
        (
            os.path.join(p, "faketime/libfaketime.so.1")
            for p in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu")
            if os.path.exists(os.path.join(p, "faketime/libfaketime.so.1"))
        ),
        None,
    )
    demand(library, "libfaketime is missing (Debian's package is called faketime)")
    trainer = Trainer(build, directory, 1000 + case)
    trainer.set(after="3000u")
    trainer.finish("whole")
    pick = random.Random(f"clock {case}")
    stamp = trainer.path("time")
    jumps, stop = [0], threading.Event()

    def jump():
        while not stop.is_set():
            with open(stamp + ".new", "w") as out:
                out.write(f"{pick.randrange(-172800, 172800):+d}")
            os.replace(stamp + ".new", stamp)
            jumps[0] += 1
            stop.wait(0.05)

    thread = threading.Thread(target=jump)
    thread.start()
    try:
        trainer.finish(
            "jumped",
            environment={
                "LD_PRELOAD": library,
                "FAKETIME_TIMESTAMP_FILE": stamp,
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            },
        )
    finally:
        stop.set()
        thread.join()
    trainer.check_same("jumped")
    for line in open(os.path.join(trainer.path("jumped"), "log.jsonl")):
        event = json.loads(line)
        for key in TIMES:
            demand(event.get(key, 0) >= 0, "negative", key, line)
    return {"counted": {"jumps": jumps[0]}}


def threads(build, directory, case):
    trainer = Trainer(build, directory, 2000 + case)
    trainer.set(threads="1")
    trainer.finish("whole")
    trainer.set(threads="64")
    trainer.finish("many")
    trainer.check_same("many")
    return {"counted": {trainer.program: 1}}
