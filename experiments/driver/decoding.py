"""Part Dec: CPU time of whole decoding, lin against each preset. Nothing is trained to the end:
after one update a model computes what any other of its shape does, and a limit on the length gives
every translation as many steps."""
import math

from . import locks, machine, records, statistics, tables, training
from .measures import run_program
from .tables import DASH
from .text import sentences

HEADS = ("lin", "mos", "mixbig", "mix1", "mix2", "mix3", "mix4", "mix5")
ROUNDS, LINES, SENTENCES, STEPS = 5, 500, 40, 20
TASKS = {"lm": "scoring with lm_score", "beam": "mt_translate, beam 5"}
NAME = "Dec/rounds"


def cut(source, target, lines):
    with open(source, encoding="utf-8") as text:
        target.write_text("".join(line for _, line in zip(range(lines), text)), encoding="utf-8")
    return target


def prepare(context):
    """Texts and one model of each shape, after one update, under runs/Dec."""
    base, captions = context.runs / "Dec", context.data / "captions"
    base.mkdir(parents=True, exist_ok=True)
    train = training.prepare(context.runs, context.data)
    (pairs,) = context.pairs().values()
    cut(captions / "test.en", base / "score.en", LINES)
    valid = cut(captions / "val.en", base / "valid.en", 20)
    for side in ("de", "en"):
        for name, lines in (("val", 20), ("test2016", SENTENCES)):
            cut(pairs / f"{name}.{side}", base / f"{name}.{side}", lines)
    translated = ("--src", pairs / "train.de", "--tgt", pairs / "train.en")
    checked = ("--valid-src", base / "val.de", "--valid-tgt", base / "val.en")
    shape = f"--shared-vocab --layers 3 --hidden 256 --ffn 512 --max-length {STEPS}"
    made = {
        "lm": (
            "--train",
            train,
            "--valid",
            valid,
            *"--min-count 3 --hidden 256 --embed 256".split(),
        ),
        "mt": (*translated, *checked, *shape.split()),
    }
    for head in HEADS:
        for kind, asked in made.items():
            run = base / f"{kind}-{head}"
            if not (run / "checkpoints" / "best").exists():
                once = (*f"--head {head} --after 1u --keep 1 --run".split(), run)
                run_program(context, f"{kind}_train", *asked, *once)
    return base


def measure(context, base, task, head):
    """CPU seconds of a program, and of how many tokens."""
    model = ("--checkpoint", base / f"{'lm' if task == 'lm' else 'mt'}-{head}", "--input")
    before = training.cpu_of_children()
    if task == "lm":
        text = base / "score.en"
        run_program(context, "lm_score", *model, text)
        tokens = sum(len(line) + 1 for line in sentences(text))
    else:
        options = f"--beam 5 --max-length {STEPS}".split()
        printed = run_program(context, "mt_translate", *model, base / "test2016.de", *options)
        tokens = sum(len(line.split()) for line in printed.splitlines())
    return training.cpu_of_children() - before, tokens


def go(context):
    """The rounds that have no record, each a line a head and task; another process that is at them
    is waited for."""
    with locks.held(context.runs / "Dec" / "worker.lock", context.late) as mine:
        if not mine:
            return
        record = records.named(NAME, context.folder)
        described = machine.described(machine.environment("Dec", []))
        sizes = {"lines": LINES, "sentences": SENTENCES, "steps": STEPS}
        config = {"event": "config", "machine": described, **sizes}
        lines = list(record.events) if record else [config]
        done = record.last("round", "round", 0) if record else 0
        base = prepare(context)
        for number in range(done + 1, ROUNDS + 1):
            if context.late():
                return
            for head in HEADS if number % 2 else HEADS[::-1]:
                for task in TASKS:
                    seconds, tokens = measure(context, base, task, head)
                    told = {"event": "round", "round": number, "head": head, "task": task}
                    lines.append({**told, "cpu_s": round(seconds, 4), "tokens": tokens})
            records.keep((context.folder or records.NEW) / f"{NAME}.jsonl", lines)
            print(f"Dec: round {number} of {ROUNDS}", flush=True)


def times(folder=None):
    """{task: {head: [CPU seconds a token, by round]}}, empty without a record."""
    record = records.named(NAME, folder)
    found = {task: {head: [] for head in HEADS} for task in TASKS}
    for e in record.of("round") if record else []:
        found[e["task"]][e["head"]].append(e["cpu_s"] / e["tokens"])
    return found


def ratios(of_task, head):
    return [math.log(a / b) for a, b in zip(of_task[head], of_task["lin"])]


def mean_ratio(found, tasks):
    """The geometric mean over all heads but lin."""
    each = [statistics.mean(ratios(found[task], head)) for task in tasks for head in HEADS[1:]]
    return math.exp(statistics.mean(each))


def verdict(_, folder=None):
    found = times(folder)
    rounds = len(found["lm"]["lin"])
    if not rounds:
        return "not run", DASH
    overall = mean_ratio(found, TASKS)
    figure = f"geometric mean {overall:.2f} over seven mixtures, scoring and beam 5"
    if rounds < ROUNDS:
        return "undecided", f"{figure}; {rounds} of {ROUNDS} rounds"
    return ("reproduced" if 1.6 <= overall <= 2.5 else "not reproduced"), figure


def table(_, folder=None):
    found, lines = times(folder), []
    rounds = len(found["lm"]["lin"])
    for head in HEADS:
        line = [f"`{head}`"]
        for task in TASKS:
            if xs := found[task][head]:
                beside = statistics.ratio(ratios(found[task], head))
                told = "1" if head == "lin" else tables.with_interval(*beside)
                line += [f"{1e6 * statistics.mean(xs):.0f}", told]
            else:
                line += ["not run", DASH]
        lines.append(line)
    for i, (task, name) in enumerate(TASKS.items() if rounds else ()):
        line = [f"geometric mean, {name}", *[""] * 4]
        line[2 + 2 * i] = f"{mean_ratio(found, [task]):.2f}"
        lines.append(line)
    record = records.named(NAME, folder)
    told = f"**{rounds} of {ROUNDS} rounds**; ratios paired by round, with Student's 95% interval."
    if record:
        told += f" One thread of {record.last('config', 'machine')}, beside other work."
    header = "head | scoring, µs of CPU a token | ratio to lin | beam 5, µs of CPU a subword"
    return f"{told}\n\n{tables.markdown(f'{header} | ratio to lin', lines)}"


def commands(_):
    return (
        "To repeat it, with new records that `experiments/table Dec --records runs/records`"
        " prints:\n\n    DATA=... experiments/run Dec --records runs/records"
    )
