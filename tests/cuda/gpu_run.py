#!/usr/bin/env python3
"""Everything that is to be seen on a GPU, in three parts that can run on different days
(docs/cuda.md).

  gpu_run.py PART...    1: tests, and runs beside the CPU's; 2: benchmarks beside PyTorch; 3: compute-sanitizer. Each builds first.

A part ends by itself within DEADLINE seconds (default 570): a step that would not end in time is
cut off, and those after it are left out. After every step OUT/gpu.json (default build-gpu/out) is
written anew. It goes on from the one in .gpu/, if there is one, so that parts of the same commit
gather in one file, and a part on the same GPU leaves out what it has already done: only builds are
done again. Exit status 1 when a step failed or was left out.
"""
import json
import os
import re
import subprocess
import sys
import time

BUILD = "build-gpu"
PACKED = ".gpu/bin"  # programs that were built elsewhere
BIN = PACKED if os.path.isdir(PACKED) else f"{BUILD}/bin"
SMALL = (
    "--train .gpu/data/captions/train.en --valid .gpu/data/captions/val.en --vocab-size 5000 --hidden 128 --embed 128 --batch 16 --after 100u "
    "--valid-every 100u --log-every 1 --save-every 0u --seed 3"
).split()
# Every kernel once, cuBLAS's with what we give it too; random shapes and repeated runs say nothing
# new to a sanitizer and take long.
SANITIZED = (
    "--test-case=*float32,*plain ops*,cuda head: every kernel*,cuda head: mixtures*,cuda head: smoothed*,cuda head: products*,"
    "cuda lstm: gradients*"
)
BENCH = ["--device", "cuda", "--batch", "64", "--bptt", "70", "--steps", "20"]
HEADS = {"lin": [], "mos9": ["--head", "mos", "--components", "9"]}


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def commit():
    if os.path.exists(".gpu/commit"):  # what was packed; the other machine may have no git
        return open(".gpu/commit").read().strip()
    return output_of("git", "rev-parse", "HEAD")


def build_steps(*targets):
    """No steps where the programs were packed."""
    if BIN == PACKED:
        return []
    arch = (
        output_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").splitlines()
        or ["9.0"]
    )[0].replace(".", "")
    return [
        (
            "configure",
            [
                "cmake",
                "-S",
                ".",
                "-B",
                BUILD,
                "-G",
                "Ninja",
                "-DNINE_CUDA=ON",
                f"-DNINE_CUDA_ARCHS={arch}",
            ],
        ),
        ("build", ["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", *targets]),
    ]


def part_1():
    """Tests, then 100 updates on the CPU, on the GPU and on the GPU again, and their logs and
    weights compared."""
    steps = build_steps("gpu_tests", "lm_train")
    steps.append(("tests", [f"{BIN}/gpu_tests"]))
    for head in ("lin", "rbf", "mix:2*lin,ssg"):
        name = re.sub("[^a-z0-9]", "-", head)
        runs = [f"{BUILD}/run-{name}-{which}" for which in ("cpu", "a", "b")]
        for run, which in zip(runs, ("cpu", "cuda", "again")):
            steps.append(
                (
                    f"{which}-{name}",
                    [
                        f"{BIN}/lm_train",
                        *SMALL,
                        "--head",
                        head,
                        "--run",
                        run,
                        "--restart",
                        *([] if which == "cpu" else ["--device", "cuda"]),
                    ],
                )
            )
        steps.append((f"compare-{name}", ["python3", "tests/cuda/compare_runs.py", *runs]))
    return steps


def part_2():
    steps = build_steps("bench_lm")
    for precision in ("highest", "high", "medium"):
        for name, head in HEADS.items():
            steps.append(
                (
                    f"{name}-{precision}",
                    [f"{BIN}/bench_lm", *BENCH, "--matmul-precision", precision, *head],
                )
            )
    # The LSTM's loop by a product and a kernel for each step.
    steps.append(
        (
            "lin-high-steps",
            [
                "env",
                "NINE_CUDA_SIDE_BY_SIDE=0",
                f"{BIN}/bench_lm",
                *BENCH,
                "--matmul-precision",
                "high",
            ],
        )
    )
    for extra in (
        [],
        ["--precision", "tf32"],
        ["--precision", "bf16"],
        ["--precision", "bf16", "--compile"],
    ):
        for name, head in HEADS.items():
            which = "-".join(e.lstrip("-") for e in extra[1:]) or "fp32"
            steps.append(
                (
                    f"torch-{name}-{which}",
                    ["python3", "experiments/baselines/torch_lm.py", *BENCH, *head, *extra],
                )
            )
    return steps


def part_3():
    return build_steps("gpu_tests") + [
        (
            tool,
            [
                "compute-sanitizer",
                "--tool",
                tool,
                "--error-exitcode",
                "9",
                f"{BIN}/gpu_tests",
                SANITIZED,
            ],
        )
        for tool in ("memcheck", "racecheck")
    ]


BUILDS = ("configure", "build")
COMPARED = re.compile("^(cpu|cuda|again)-")
PARTS = {"1": part_1, "2": part_2, "3": part_3}


class Record:
    """gpu.json, as it is at any moment."""

    def __init__(self, out):
        self.path = os.path.join(out, "gpu.json")
        os.makedirs(out, exist_ok=True)
        self.now = {
            "commit": commit(),
            "gpu": output_of(
                "nvidia-smi",
                "--query-gpu=name,driver_version,memory.total",
                "--format=csv,noheader",
            ),
            "nvcc": (
                re.findall(r"release [0-9.]+, V[0-9.]+", output_of("nvcc", "--version")) or [""]
            )[0],
            "parts": {},
        }
        if os.path.exists(".gpu/gpu.json"):
            before = json.load(open(".gpu/gpu.json"))
            if before["commit"] == self.now["commit"]:
                self.now["parts"] = before["parts"]

    def begin(self, part, steps):
        """The steps that are to be run: those of `steps` that did not succeed on this GPU before,
        and builds."""
        before = self.now["parts"].get(part, {"gpu": "", "steps": []})
        done = {
            s["name"]: s
            for s in before["steps"]
            if s["exit"] == 0 and before["gpu"] == self.now["gpu"] and s["name"] not in BUILDS
        }
        # Runs leave files for their comparison, on the machine where they ran.
        kept = [
            name for name, _ in steps if name in done and COMPARED.sub("compare-", name) in done
        ]
        todo = [step for step in steps if step[0] not in kept]
        self.now["parts"][part] = {
            "gpu": self.now["gpu"],
            "steps": [done[name] for name in kept],
            "waiting": [name for name, _ in todo],
        }
        self.write()
        return todo

    def add(self, part, step):
        entry = self.now["parts"][part]
        entry["waiting"].remove(step["name"])
        entry["steps"].append(step)
        self.write()

    def failed(self):
        return [
            f"{part}: {s['name']}"
            for part, entry in sorted(self.now["parts"].items())
            for s in entry["steps"]
            if s["exit"] != 0
        ] + [
            f"{part}: {name}, left out"
            for part, entry in sorted(self.now["parts"].items())
            for name in entry["waiting"]
        ]

    def write(self):
        self.now["failed"] = self.failed()
        with open(self.path + ".tmp", "w") as out:
            json.dump(self.now, out, indent=1)
        os.replace(self.path + ".tmp", self.path)


def run_step(name, command, seconds, log):
    """Runs a command for so long at most. Its lines of JSON, which benchmarks print, are kept."""
    log.write(f"=== {name}: {' '.join(command)}\n")
    log.flush()
    begin, lines, cut = time.time(), [], False
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=log, text=True, timeout=seconds
        )
        code, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        code, text, cut = 124, (late.stdout or b"").decode(errors="replace"), True
    except OSError as error:
        code, text = 127, str(error) + "\n"
    log.write(text)
    log.flush()
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                pass
    # nothing of what follows would run on a GPU
    if name == "configure" and "CUDA: not built" in text:
        code = code or 1
    step = {
        "name": name,
        "date": time.strftime("%Y-%m-%d"),
        "exit": code,
        "seconds": round(time.time() - begin, 1),
    }
    if lines:
        step["results"] = lines
    print(f"{name}: exit {code}{' (cut off)' if cut else ''}, {step['seconds']} s", flush=True)
    if code != 0:
        print("\n".join(text.splitlines()[-25:]), flush=True)
    return step


def main():
    parts = sys.argv[1:]
    if not parts or any(p not in PARTS for p in parts):
        sys.exit("usage: tests/gpu.sh pack | 1 | 2 | 3 (several run one after another)")
    # Without a GPU that CUDA can use, tests fail instead of being skipped.
    os.environ["NINE_GPU_TESTS"] = "1"
    deadline = float(os.environ.get("DEADLINE", "570"))
    out = os.environ.get("OUT", f"{BUILD}/out")
    record = Record(out)
    with open(os.path.join(out, "gpu.log"), "a") as log:
        for part in parts:
            begin, steps = time.time(), record.begin(part, PARTS[part]())
            for name, command in steps:
                left = begin + deadline - time.time()
                if left < 1:
                    print(f"part {part}: no time for {name} and what follows", flush=True)
                    break
                step = run_step(name, command, left, log)
                record.add(part, step)
                if step["exit"] != 0 and name in BUILDS:
                    break
    failed = record.failed()
    print(json.dumps({k: record.now[k] for k in ("commit", "gpu", "failed")}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
