#!/usr/bin/env python3
"""tests/gpu.sh on stubs that print what the real programs print: the whole list, what fails, what
hangs, what is killed.

  gpu_script.py SOURCE
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SOURCE = pathlib.Path(sys.argv[1]).resolve()
LONG = f"98765.{os.getpid()}"  # seconds that a stub sleeps, by which its processes are known

# bench_lm --profile's own lines, of a CPU: tests/cuda/gpu_run.py reads them.
PROFILE = """
profile: 20 steps; this GPU: 51234 GFLOP/s of a large product, 4012.3 GB/s
op                     calls/step   ms/step   share    GFLOP/s      GB/s predicted  roofline
head_gradients                2.0      2.50   40.0%    16000.0    700.00      1.52       61%
lstm backward                 2.0      1.25   20.0%     8000.0    100.00      0.39       31%
all ops                                6.25  100.0%                           2.75       44%
"""
STUBS = {
    "nvidia-smi": """
case "$*" in
  *--loop*) echo "timestamp, clocks.current.sm [MHz]"; exec sleep LONG;;
  *compute_cap*) echo 9.0;;
  *) echo "${GPU:-NVIDIA H200, 580.159.04, 143771 MiB}";;
esac""",
    "nvcc": 'echo "Cuda compilation tools, release 13.0, V13.0.88"',
    "ncu": """
while [ $# -gt 0 ]; do [ "$1" != --log-file ] || echo '"ID","Kernel Name","Metric Name","Metric Value"' > "$2"; shift; done""",
    # It notes who sleeps meanwhile.
    "compute-sanitizer": """
grep -la "PATTERN" /proc/[0-9]*/cmdline > "$WORK/asleep" 2> /dev/null
case "$*" in *racecheck*) exit "${RACES:-0}";; esac""",
    # A daemon that leaves its group and its session, as the real one does.
    "nvidia-cuda-mps-control": '[ "${1:-}" = -d ] || { cat > /dev/null; exit 0; }\nsetsid sleep LONG &',
    "git": 'case "$1" in rev-parse) echo 0123abc;; status) cat "$WORK/dirty" 2> /dev/null;; esac; exit 0',
    "cmake": 'echo "${CMAKE_SAYS:-configured}"; exit "${CMAKE_EXIT:-0}"',
    "ninja": 'mkdir -p build-gpu/bin; for p in $PROGRAMS; do cp "$WORK/programs/$p" build-gpu/bin/; done',
    "strip": 'cp "$3" "$2"',
    # The runner and what compares are real, PyTorch's programs are not.
    "python3": """
case "$1" in
  *torch_rounds.py)
    [ -z "${HANG_TORCH:-}" ] || { trap "" TERM; echo '{"row": "lin", "s_per_step": 0.006}'; setsid sleep LONG & sleep LONG; }
    echo '{"row": "lin", "who": "compiled", "precision": "bf16", "round": 0, "s_per_step": 0.006, "peak_mib": 900.0}';;
  *ceilings.py) echo '{"ceiling": "copy", "best_gb_per_s": 4300.0}';;
  *head.py) echo '{"head": "lin", "program": "cce", "median_ms": 1.5}';;
  -m) case "$2" in pip) mkdir -p .gpu/wheels; exit "${PIP_EXIT:-1}";; *) exec PYTHON "$@";; esac;;
  *) exec PYTHON "$@";;
esac""",
}
PROGRAMS = {
    "gpu_tests": """
echo "gpu_tests $* ${CUDA_FORCE_PTX_JIT:-}" >> "$WORK/ran"
echo "[doctest] test cases:   42 |   42 passed | 0 failed | 0 skipped"
exit "${TESTS_EXIT:-0}" """,
    "bench_lm": """
[ "$1" != --version ] || { echo "nine 0.2.0"; exit 0; }
echo "bench_lm $*" >> "$WORK/ran"
echo '{"system": "nine 0.2.0", "s_per_step": 0.00612, "peak_mib": 924.2}'
cat "$WORK/profile" >&2""",
    # A run is a log, and weights that follow from seed and updates; it goes on where it stopped.
    "lm_train": """
echo "lm_train $*" >> "$WORK/ran"
device=cpu other= init= seed=1
while [ $# -gt 0 ]; do
  case "$1" in
    --run) run=$2;; --after) updates=${2%u};; --device) device=$2;; --seed) seed=$2;;
    --init) init=$(cat "$2/model.safetensors");; --other-gpu) other=yes;; --restart) rm -rf "$run";;
  esac
  shift
done
case "$run" in *"${HANG_RUN:-nothing}"*) echo '{"begun": true}'; setsid sleep LONG & sleep LONG;; esac
machine="${NVIDIA_TF32_OVERRIDE:-}"
if [ -f "$run/config.json" ]; then
  read -r was_device was_machine < "$run/config.json"
  [ "$was_device" = "$device" ] || { echo "device differs" >&2; exit 2; }
  [ "$was_machine" = "$machine" ] || [ "$other" ] || { echo "NVIDIA_TF32_OVERRIDE differs" >&2; exit 2; }
fi
here=$run/checkpoints/$(printf %08d "$updates")
mkdir -p "$here"
echo "$device $machine" > "$run/config.json"
: > "$run/log.jsonl"
for i in 1 2 3 50 100 150; do
  [ "$i" -gt "$updates" ] || echo "{\\"event\\": \\"train\\", \\"step\\": $i, \\"time_s\\": $i, \\"loss\\": 5.5}" >> "$run/log.jsonl"
done
echo "$seed $updates $init ${VARY:+$$}" > "$here/model.safetensors"
cp "$here/model.safetensors" "$here/optimizer.safetensors"
ln -sfn "$(basename "$here")" "$run/checkpoints/latest" """,
}
for name in ("lm_rescore", "lm_score", "mt_train", "mt_translate", "bpe"):
    PROGRAMS[name] = "exit 0"
PROGRAMS["bench_mt"] = PROGRAMS["bench_lm"]


def write_stub(path, body):
    body = (
        body.replace("PATTERN", f"[9]{LONG[1:]}")
        .replace("LONG", LONG)
        .replace("PYTHON", sys.executable)
    )
    path.write_text(f"#!/bin/sh\n{body.strip()}\n")
    path.chmod(0o755)


class Tree:
    """A checkout whose programs and tools are stubs."""

    def __init__(self, work):
        self.work, self.root = work, work / "tree"
        for folder in ("bin", "programs", "modules", "tree/tests", "tree/experiments", "data"):
            (work / folder).mkdir(parents=True)
        for folder in ("tests/cuda", "experiments/gpu"):
            shutil.copytree(SOURCE / folder, self.root / folder)
        shutil.copy(SOURCE / "tests/gpu.sh", self.root / "tests")
        for name, body in STUBS.items():
            write_stub(work / "bin" / name, body)
        for name, body in PROGRAMS.items():
            write_stub(work / "programs" / name, body)
        (work / "profile").write_text(PROFILE)
        (work / "modules/torch.py").write_text("")  # it is there; what imports it is a stub
        self.packed()
        self.out = work / "out"

    def packed(self, commit="0123abc"):
        shutil.rmtree(self.root / ".gpu", ignore_errors=True)
        shutil.copytree(self.work / "programs", self.root / ".gpu/bin")
        (self.root / ".gpu/commit").write_text(commit + "\n")

    def environment(self, more):
        own = {
            "PATH": f"{self.work}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(self.work / "modules"),
            "WORK": str(self.work),
            "OUT": str(self.out),
            "PROGRAMS": " ".join(PROGRAMS),
        }
        return os.environ | own | {k: str(v) for k, v in more.items()}

    def run(self, *words, **more):
        """Exit status, what was printed, seconds, and what gpu.json has."""
        shutil.rmtree(self.out, ignore_errors=True)
        (self.work / "ran").write_text("")
        begin = time.monotonic()
        done = subprocess.run(
            ["tests/gpu.sh", *words],
            cwd=self.root,
            env=self.environment(more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout, time.monotonic() - begin, self.record()

    def start(self, *words, **more):
        shutil.rmtree(self.out, ignore_errors=True)
        return subprocess.Popen(
            ["tests/gpu.sh", *words],
            cwd=self.root,
            env=self.environment(more),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )

    def record(self):
        path = self.out / "gpu.json"
        return json.loads(path.read_text()) if path.exists() else None

    def ran(self):
        return (self.work / "ran").read_text().splitlines()


def sleeping():
    """Processes of stubs that still sleep."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            command = pathlib.Path("/proc", entry, "cmdline").read_bytes()
        except OSError:
            continue
        if LONG.encode() in command:
            found.append(int(entry))
    return found


def require(condition, *what):
    if not condition:
        raise SystemExit(
            "\n".join(["gpu_script:", *map(str, what), *traceback.format_stack(limit=2)])
        )


def results(record):
    return {s["name"]: s["result"] for s in record["steps"]}


def wait_for(what, condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        require(time.monotonic() < until, "waited in vain for", what)
        time.sleep(0.05)


def check_list(tree):
    sys.path.insert(0, str(SOURCE / "tests/cuda"))
    import gpu_run
    import gpu_steps

    steps = gpu_steps.steps("bin", "work", "out")
    caps = sum(s.cap for s in steps)
    default = re.search(r'"DEADLINE", "(\d+)"', (SOURCE / "tests/cuda/gpu_run.py").read_text())[1]
    # Each step begins, also if those before it take all that they may.
    require(caps + 2 * gpu_run.GRACE <= int(default) < 500, caps, default)
    require(all(s.most == 0 or s.most > s.cap for s in steps), "most is below cap")
    names = [c.name for s in steps for c in s.commands]
    require(len(set(names)) == len(names), "two commands would write one file", names)
    table = (SOURCE / "tests/cuda/ptxas.txt").read_text()
    for kernel in gpu_steps.LSTM_KERNELS + gpu_steps.ATTENTION_KERNELS:
        require(re.search(rf" {kernel} \d", table), kernel, "is no kernel of tests/cuda/ptxas.txt")
    cases = "".join(p.read_text() for p in (SOURCE / "tests/cuda").glob("test_*.cpp"))
    names = re.findall(r'TEST_CASE\(\s*"([^"]+)"', cases)
    for words in (c.words for s in steps for c in s.commands):
        for pattern in (w.split("=", 1)[1] for w in words if w.startswith("--test-case=")):
            expression = ".*".join(map(re.escape, pattern.split("*")))
            require(any(re.fullmatch(expression, n) for n in names), "no test is called", pattern)
    code, said, _, _ = tree.run("list")
    require(code == 0 and all(f" {s.name} " in said for s in steps), said)
    code, said, _, _ = tree.run("run", "nothing")
    require(code == 1 and "no step nothing; there are machine, tests" in said, said)
    require(tree.run()[0] == 2, "without a command it is an error")
    return steps


def check_all(tree, steps):
    code, said, seconds, record = tree.run("run")
    require(code == 0 and record["failed"] == [], said, record["failed"])
    require(seconds < 60, seconds)
    require(list(results(record)) == [s.name for s in sorted(steps, key=lambda s: s.priority)])
    require(record["commit"] == "0123abc" and record["gpu"].startswith("NVIDIA H200"), record)
    require(record["nvcc"] == "release 13.0, V13.0.88", record)
    of = {c["name"]: c for s in record["steps"] for c in s["commands"]}
    require(of["lin-high"]["results"][0]["s_per_step"] == 0.00612, of["lin-high"])
    profile = of["lin-high"]["profile"]
    require(profile["gflop_per_s"] == 51234 and profile["gb_per_s"] == 4012.3, profile)
    require(profile["ops"]["lstm backward"]["ms"] == 1.25, profile)
    require(profile["ops"]["head_gradients"]["roofline"] == 61, profile)
    require(profile["ops"]["all ops"] == {"ms": 6.25, "roofline": 44}, profile)
    require("42 passed" in "".join(of["gpu_tests"]["tail"]), of["gpu_tests"])
    require(of["hops"]["results"][0]["ok"], of["hops"])
    require(of["compare-rbf"]["results"][0]["same_weights_twice"], of["compare-rbf"])
    require([r.get("trainings") for r in of["several"]["results"]] == [1, 4, 4, 8, 8, None])
    require(of["several"]["results"][-1]["same_bits_alone_and_beside_others"])
    require(any(line.endswith("*plain ops* 1") for line in tree.ran()), "no PTX", tree.ran())
    require((tree.out / "ncu-lstm.csv").exists() and (tree.out / "clocks.csv").exists())
    for step in steps:
        require(re.search(rf"^{step.name} +[\d.]+ s of +{step.cap}  ok$", said, re.M), said)
    require((tree.out / "summary.txt").read_text() in said)
    require(not sleeping(), "processes are left", sleeping())

    # A run on another day keeps what succeeded: of this commit, on this GPU, of a clean tree.
    kept = json.dumps(record)
    gpu_json = tree.root / ".gpu/gpu.json"
    gpu_json.write_text(kept)
    code, said, _, record = tree.run("run")
    require(code == 0 and record["failed"] == [] and tree.ran() == [], said, tree.ran())
    _, _, _, record = tree.run("run", "tests", GPU="NVIDIA H100, 580.65, 81559 MiB")
    require(len(tree.ran()) == 1 and results(record) == {"tests": "ok"}, tree.ran())
    for commit in ("4567def", "0123abc-dirty"):
        tree.packed(commit)
        gpu_json.write_text(kept.replace("0123abc", commit) if "dirty" in commit else kept)
        tree.run("run", "tests")
        require(len(tree.ran()) == 1, commit, tree.ran())
    tree.packed()


def check_failures(tree):
    code, said, _, record = tree.run("run", "tests", "rate", "racecheck", TESTS_EXIT=1, RACES=9)
    require(code == 1 and "gpu_tests: failed: exit 1" in said, said)
    failed = results(record)
    require(failed["tests"] == "gpu_tests: failed: exit 1" and failed["rate"] == "ok", failed)
    require(failed["racecheck"].count("failed: exit 9") == 2, failed)
    require(len(record["failed"]) == 2, record["failed"])
    code, _, _, record = tree.run("run", "compare", "several", "hops", VARY="yes")
    failed = results(record)
    require(code == 1 and failed["compare"].count("compare-") == 3, failed)
    require("exit 1" in failed["several"] and "exit 1" in failed["hops"], failed)
    (tree.work / "bin/ncu").rename(tree.work / "bin/no-ncu")
    code, _, _, record = tree.run("run", "ncu", "rate", PATH=f"{tree.work}/bin:/usr/bin:/bin")
    (tree.work / "bin/no-ncu").rename(tree.work / "bin/ncu")
    require(code == 1 and "ncu-lstm: left out: no ncu" in results(record)["ncu"], record)
    require(results(record)["rate"] == "ok", record)


def check_time(tree):
    # A command that hangs is ended at its step's cap, with a child that has left its session; what
    # comes behind it in the step is left out, and other steps run.
    code, _, seconds, record = tree.run("run", "rate", "memcheck", HANG_RUN="rate-highest")
    require(code == 1 and 8 <= seconds < 20, seconds)
    failed = results(record)
    require("rate-highest: cut off after 8 s" in failed["rate"], failed)
    require("rate-high: left out: no time" in failed["rate"] and failed["memcheck"] == "ok", failed)
    of = {c["name"]: c for s in record["steps"] for c in s["commands"]}
    require(of["rate-highest"]["results"] == [{"begun": True}], of["rate-highest"])
    asleep = (tree.work / "asleep").read_text().splitlines()
    require(len(asleep) == 1, "beside the log of clocks, what was cut off still runs", asleep)
    require(not sleeping(), "processes are left")
    # With little time, steps that fit run and others are left out by name.
    code, said, seconds, record = tree.run("run", DEADLINE=26)
    require(code == 1 and seconds < 26, seconds)
    failed = results(record)
    require(re.fullmatch(r"left out: \d+ s were left", failed["tests"]), failed)
    require(failed["machine"] == failed["rate"] == failed["initcheck"] == "ok", failed)
    require("torch: left out" in "".join(record["failed"]) and "torch " in said, record["failed"])


def check_kills(tree):
    def rate_runs():
        record = tree.record()
        running = record is not None and results(record).get("rate") == "running"
        return running and len(sleeping()) == 3  # one logs the clocks

    for how in (signal.SIGTERM, signal.SIGKILL):
        process = tree.start("run", "machine", "hops", "rate", HANG_RUN="rate-high")
        wait_for("the step that hangs", rate_runs)
        process.send_signal(how)
        code = process.wait(timeout=20)
        record = tree.record()
        of = results(record)
        require(of["machine"] == "ok" and of["hops"] == "ok", of)
        require(record["steps"][1]["commands"][0]["results"][0]["ok"], record)
        printed = (tree.out / "rate-highest.out").read_text()
        require('"begun"' in printed, printed)
        if how == signal.SIGTERM:
            require(code == 1 and of["rate"] == "ended by SIGTERM", code, of)
            require(not sleeping(), "children are left")
            require((tree.out / "summary.txt").exists())
        else:  # nobody is there to end what left its session
            require(of["rate"] == "running", of)
            for pid in sleeping():
                os.kill(pid, signal.SIGKILL)
    # One that ignores being asked to end.
    process = tree.start("run", "torch", HANG_TORCH=1)
    wait_for("PyTorch's program", lambda: len(sleeping()) >= 3)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=20)
    require(not sleeping(), "children are left that ignore SIGTERM")


def check_builds(tree):
    shutil.rmtree(tree.root / ".gpu")
    code, said, _, record = tree.run("run", "rate", CMAKE_EXIT=3, CMAKE_SAYS="broken")
    require(code == 1 and "broken" in said and results(record) == {"build": "failed"}, said, record)
    code, said, _, record = tree.run("run", "rate", CMAKE_SAYS="-- CUDA: not built (no nvcc)")
    require(code == 1 and "not built" in said and results(record) == {"build": "failed"}, said)
    shutil.copytree(tree.work / "programs", tree.root / "build-gpu/bin")
    (tree.work / "dirty").write_text(" M core/arena.cpp\n")
    code, said, _, record = tree.run("run", "rate")
    require(code == 0 and record["commit"] == "0123abc-dirty", said, record)


def check_pack(tree):
    data = tree.work / "data"
    for folder in ("captions", "rescoring", "multi30k"):
        (data / folder).mkdir()
        for name in ("train.en", "val.en", "test.en"):
            (data / folder / name).write_text("a b\n")
    code, said, _, _ = tree.run("pack", DATA=data)
    require(code == 0 and "no CCE and Liger" in said, said)
    gpu = tree.root / ".gpu"
    files = sorted(p.name for p in gpu.iterdir())
    require(files == ["commit", "gpu.json", "packed.tar.xz"], files)
    require((gpu / "commit").read_text() == "0123abc-dirty\n")
    code, said, _, _ = tree.run("pack", DATA=data, MOST=-1)
    require(code == 1 and re.search(r"\.gpu has \d+ MiB, and -1 are carried", said), said)
    code, said, _, _ = tree.run("unpack")
    require(code == 0 and not (gpu / "packed.tar.xz").exists(), said)
    packed = {p.name for p in (gpu / "bin").iterdir()}
    require(packed == set(PROGRAMS), packed)
    require((gpu / "data/captions/val.en").exists() and (gpu / "python").exists())
    code, said, _, record = tree.run("run", "rate")
    require(code == 0, said)
    code, said, _, _ = tree.run("pack", DATA="")
    require(code == 1 and "set DATA to the folder of the corpora" in said, said)


TRAINER = """
told=
while [ $# -gt 0 ]; do
  case $1 in
    --run) run=$2 ;;
    --device | --save-every) told="$told $2" ;;
  esac
  shift
done
echo "{}" > "$run/config.json"
for i in 1 2 3 4 5; do echo '{"event":"valid","ppl":30.0}'; done > "$run/log.jsonl"
echo '{"event":"done","test_ppl":30.0}' >> "$run/log.jsonl"
echo "$run$told $NINE_CUDA_MEMORY $CUDA_MPS_PIPE_DIRECTORY" >> "$TOLD" """


def check_train(tree):
    """experiments/gpu/train.sh: several workers, each run once, the records in one file. One of 45
    has an older record."""
    shutil.rmtree(tree.root / "experiments")
    shutil.copytree(SOURCE / "experiments", tree.root / "experiments")
    for records in (tree.root / "experiments/records").glob("*.csv*"):
        records.unlink()
    tree.packed()
    write_stub(tree.root / ".gpu/bin/lm_train", TRAINER)
    write_stub(tree.work / "bin/nvidia-cuda-mps-control", "cat > /dev/null")
    texts = tree.root / ".gpu/data/captions"
    texts.mkdir(parents=True)
    for name in ("train.en", "val.en", "test.en"):
        (texts / name).write_text("a b\n")
    told = tree.work / "told"
    done = subprocess.run(
        ["experiments/gpu/train.sh", "60", "3", "M3"],
        cwd=tree.root,
        env=tree.environment({"TOLD": told, "EVERY": "0.5"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    require(done.returncode == 0 and done.stdout.count("M3/") == 44, done.stdout)
    ran = re.findall(r"M3/.* cuda 1e 0\.07 .*/mps$", told.read_text(), re.M)
    require(len(ran) == 44, told.read_text())


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="nine-gpu."))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        tree = Tree(work)
        steps = check_list(tree)
        check_all(tree, steps)
        check_failures(tree)
        check_time(tree)
        check_kills(tree)
        check_builds(tree)
        check_pack(tree)
        check_train(tree)
    finally:
        for pid in sleeping():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
