"""The steps of tests/gpu.sh: what is to be seen on a GPU, by priority, with a cap in seconds each.

Importing this file computes nothing. `tests/gpu.sh list` prints the list, gpu_run.py runs it.
"""
import dataclasses

TEXTS = ".gpu/data"
# The steps of a training that are measured, beside PyTorch too: V = 30,000, 64 x 70 tokens for the
# LSTM. "chunked": PyTorch's linear cross-entropy in chunks has the row's head and loss.
LSTM = "--vocab 30000 --batch 64 --bptt 70".split()
GPT2 = "--arch transformer --layers 6 --vocab 30000 --batch 16 --bptt 128".split()
LONG_GPT2 = "--arch transformer --layers 6 --vocab 30000 --batch 8 --bptt 1024".split()


@dataclasses.dataclass(frozen=True)
class Row:
    program: str  # bench_lm or bench_mt, torch_lm.py or torch_mt.py
    options: tuple
    chunked: bool = False


ROWS = {
    "lin": Row("lm", tuple(LSTM), chunked=True),
    "mos9": Row("lm", (*LSTM, "--head", "mos", "--components", "9")),
    "gpt2": Row("lm", tuple(GPT2), chunked=True),
    "gpt2-1024": Row("lm", tuple(LONG_GPT2), chunked=True),
    "mt": Row("mt", ()),
}
# Nine's words for PyTorch's precisions. TF32 is `high` without bfloat16 pieces.
PRECISIONS = {"bf16": "medium", "tf32": "high", "fp32": "highest"}
TF32 = {"NINE_CUDA_PIECES": "medium"}
SIX_PRODUCTS = {"NINE_CUDA_PIECES": "highest"}


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    words: tuple
    environment: tuple = ()  # pairs
    needs: tuple = ()  # programs, and modules of Python as "python:NAME"


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    priority: int  # 1 runs first
    cap: int  # seconds: a step begins only if they are left
    decides: str
    commands: tuple
    most: int = 0  # may take so long where the caps of the steps behind it still fit


def command(name, *words, needs=(), **environment):
    return Command(name, tuple(map(str, words)), tuple(environment.items()), tuple(needs))


SMALL = (
    f"--train {TEXTS}/captions/train.en --valid {TEXTS}/captions/val.en --vocab-size 5000"
    " --hidden 128 --embed 128 --batch 16 --valid-every 100u --log-every 1 --save-every 0u --seed 3"
).split()
# The runs of docs/results on all captions.
LARGE = (
    f"--train {TEXTS}/captions/train.en --valid {TEXTS}/captions/val.en --min-count 3"
    " --init-bias log-frequency --hidden 512 --embed 512 --after 100u --valid-every 1000u"
    " --log-every 1 --save-every 0u --seed 1 --device cuda --lr 0.008"
).split()
# What each kernel that decides a step's time is called in the source (tests/cuda/ptxas.txt).
LSTM_KERNELS = (
    "running_kernel",
    "slopes_kernel",
    "lstm_loop_kernel",
    "lstm_loop_backward_kernel",
    "add_rows_kernel",
)
ATTENTION_KERNELS = ("attention_kernel", "attention_backward_kernel")
# Of ncu: what limits a kernel, its issue slots, what its warps wait for, its memory.
SECTIONS = (
    "SpeedOfLight",
    "LaunchStats",
    "Occupancy",
    "SchedulerStats",
    "WarpStateStats",
    "MemoryWorkloadAnalysis",
)


def bench(bin_folder, row, precision, steps, *more, name=None, **environment):
    r = ROWS[row]
    return command(
        name or f"{row}-{precision}",
        f"{bin_folder}/bench_{r.program}",
        *r.options,
        *f"--device cuda --matmul-precision {precision} --steps {steps} --warmup 3 --profile".split(),
        *more,
        **environment,
    )


def compared(bin_folder, work, head):
    """100 updates on the CPU, on the GPU and on the GPU again, and their logs and weights
    compared."""
    name = "".join(c if c.isalnum() else "-" for c in head)
    runs = [f"{work}/{name}-{which}" for which in ("cpu", "cuda", "again")]
    for which, run in zip(("cpu", "cuda", "again"), runs):
        device = [] if which == "cpu" else ["--device", "cuda"]
        yield command(
            f"{which}-{name}",
            f"{bin_folder}/lm_train",
            *SMALL,
            *f"--after 100u --head {head} --run {run} --restart".split(),
            *device,
        )
    yield command(f"compare-{name}", "python3", "tests/cuda/compare_runs.py", *runs)


def profiled(bin_folder, out, name, kernels, launches, row):
    """ncu on the kernels' launches of the second step; the first warms up."""
    sections = [word for section in SECTIONS for word in ("--section", section)]
    return command(
        f"ncu-{name}",
        *"ncu --clock-control none --csv --page details --log-file".split(),
        f"{out}/ncu-{name}.csv",
        *sections,
        "--kernel-name",
        f"regex:^({'|'.join(kernels)})",
        *f"--launch-skip {launches} --launch-count {launches}".split(),
        f"{bin_folder}/bench_{ROWS[row].program}",
        *ROWS[row].options,
        *"--device cuda --matmul-precision high --steps 1 --warmup 1".split(),
        needs=("ncu",),
        NINE_CUDA_MEMORY="0.05",  # ncu saves what a kernel may write, and loads it before each pass
    )


def sanitized(bin_folder, tool, *cases):
    """One case a command: a result is kept for each, whichever is cut off."""
    for case in cases:
        yield command(
            f"{tool}: {case}",
            "compute-sanitizer",
            "--tool",
            tool,
            "--error-exitcode",
            "9",
            f"{bin_folder}/gpu_tests",
            f"--test-case={case}",
            needs=("compute-sanitizer",),
        )


def steps(bin_folder, work, out):
    """The list. `bin_folder` has the programs, `work` is for runs, `out` for results."""
    python = "python3"
    lstm_bench = [
        bench(bin_folder, row, precision, 20)
        for row in ("lin", "mos9")
        for precision in PRECISIONS.values()
    ]
    return [
        Step(
            "machine",
            1,
            8,
            "what this machine is, and whether ncu and compute-sanitizer are there",
            (
                command("nvidia-smi", "nvidia-smi", "-q", needs=("nvidia-smi",)),
                command("version", f"{bin_folder}/bench_lm", "--version"),
            ),
        ),
        Step(
            "tests",
            1,
            70,
            "whether this commit computes on a GPU what it computes on the CPU",
            (command("gpu_tests", f"{bin_folder}/gpu_tests", "--duration=true"),),
            most=110,
        ),
        Step(
            "compare",
            1,
            30,
            "whether 100 updates follow the CPU's, and have the same bits twice",
            tuple(
                c
                for head in ("lin", "rbf", "mix:2*lin,ssg")
                for c in compared(bin_folder, work, head)
            ),
        ),
        Step(
            "ceilings",
            1,
            20,
            "the card's bandwidth and rates of products by type: the floors",
            (command("ceilings", python, "experiments/gpu/ceilings.py", needs=("python:torch",)),),
        ),
        Step(
            "profile",
            1,
            40,
            "where a step's time goes: products, passes, the LSTM's loop",
            (
                *lstm_bench,
                bench(
                    bin_folder,
                    "lin",
                    "high",
                    20,
                    name="lin-high-steps",
                    NINE_CUDA_SIDE_BY_SIDE="0",
                ),
                command(
                    "small-high",
                    f"{bin_folder}/bench_lm",
                    *"--vocab 9715 --batch 32 --bptt 35 --device cuda --matmul-precision high".split(),
                    *"--steps 50 --profile".split(),
                ),
                # The output layer's other products: whether `high` and `highest` should have them.
                *(
                    bench(bin_folder, row, precision, 20, name=f"{row}-{name}", **environment)
                    for row in ("lin", "mos9")
                    for name, precision, environment in (
                        ("tf32", "high", TF32),
                        ("six-products", "highest", SIX_PRODUCTS),
                    )
                ),
            ),
            most=60,
        ),
        Step(
            "torch",
            1,
            95,
            "how a step stands beside PyTorch's, in alternating rounds",
            (
                command(
                    "torch",
                    python,
                    "tests/cuda/torch_rounds.py",
                    *f"--programs {bin_folder} --seconds".split(),
                    "{seconds}",
                    needs=("python:torch",),
                ),
            ),
            most=150,
        ),
        Step(
            "ncu",
            2,
            50,
            "what limits the seven kernels that a step waits for",
            (
                profiled(bin_folder, out, "lstm", LSTM_KERNELS, 9, "lin"),
                profiled(bin_folder, out, "attention", ATTENTION_KERNELS, 3, "gpt2"),
            ),
        ),
        Step(
            "networks",
            2,
            35,
            "a step of a Transformer, of long windows, and of translation, by op",
            tuple(
                bench(bin_folder, row, precision, 20)
                for row in ("gpt2", "gpt2-1024", "mt")
                for precision in PRECISIONS.values()
            ),
        ),
        Step(
            "heads",
            2,
            30,
            "the output layer alone beside CCE, Liger and PyTorch",
            (
                command(
                    "heads",
                    python,
                    "python/bench/head.py",
                    *"--device cuda --json --head lin --rounds 3".split(),
                    *"--shape 4480,29952,512:bfloat16 4480,29952,512".split(),
                    needs=("python:torch",),
                    PYTHONPATH=".gpu/python",
                ),
            ),
        ),
        Step(
            "hops",
            2,
            20,
            "whether a checkpoint goes GPU to CPU to GPU, and resumes to the same bits",
            (
                command(
                    "hops",
                    python,
                    "tests/cuda/hops.py",
                    f"{bin_folder}/lm_train",
                    f"{work}/hops",
                    *SMALL,
                ),
            ),
        ),
        Step(
            "ptx",
            2,
            20,
            "whether the PTX that a later card compiles at its first start is right",
            tuple(
                command(
                    f"ptx: {case}",
                    f"{bin_folder}/gpu_tests",
                    f"--test-case={case}",
                    CUDA_FORCE_PTX_JIT="1",
                    CUDA_CACHE_DISABLE="1",
                )
                for case in ("*plain ops*", "cuda lstm: one kernel*")
            ),
            most=40,
        ),
        Step(
            "rate",
            2,
            8,
            "whether lin at rate .008 without a warm-up diverges in float32 too",
            (
                *(
                    command(
                        f"rate-{precision}",
                        f"{bin_folder}/lm_train",
                        *LARGE,
                        *f"--matmul-precision {precision} --run {work}/rate-{precision}".split(),
                    )
                    for precision in ("highest", "high")
                ),
                command(
                    "losses",
                    python,
                    "tests/cuda/compare_runs.py",
                    "--losses",
                    f"{work}/rate-highest",
                    f"{work}/rate-high",
                ),
            ),
        ),
        Step(
            "several",
            2,
            20,
            "updates a second of several trainings on one card, and their bits",
            (
                command(
                    "several",
                    python,
                    "experiments/gpu/side_by_side.py",
                    bin_folder,
                    TEXTS,
                    "1,4,8",
                    "300",
                    *"--head lin --matmul-precision medium".split(),
                    NINE_CUDA_MEMORY="0.07",
                ),
            ),
            most=40,
        ),
        Step(
            "memcheck",
            3,
            20,
            "accesses outside of memory",
            tuple(
                sanitized(
                    bin_folder,
                    "memcheck",
                    "cuda lstm: gradients*",
                    "*plain ops*",
                    "cuda head: mixtures*",
                    "cuda bfloat16: numbers*",
                )
            ),
            most=60,
        ),
        Step(
            "racecheck",
            3,
            15,
            "threads of a block that meet in shared memory",
            tuple(
                sanitized(bin_folder, "racecheck", "cuda lstm: gradients*", "cuda attention: TF32*")
            ),
            most=45,
        ),
        Step(
            "initcheck",
            3,
            10,
            "reads of memory that nobody wrote",
            tuple(sanitized(bin_folder, "initcheck", "*plain ops*")),
            most=30,
        ),
    ]
