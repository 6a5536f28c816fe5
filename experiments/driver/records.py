"""Records of runs: where they are, and what tables ask of them.

A run writes a file of its own, runs/new/PART/NAME.jsonl, or under a folder of one's own.
`experiments/table --pack` adds it to experiments/records/PART.csv (packed.py). experiments/heads
has older records, which lack a configuration.
"""
import functools
import json
import pathlib
import re

from . import locks, packed
from .setups import private

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEW = ROOT / "runs" / "new"
RECORDS = ROOT / "experiments" / "records"
LEGACY = ROOT / "experiments" / "heads"


@functools.lru_cache(maxsize=None)
def lines_of(path, _changed):
    """A file is read once as long as it has not `_changed`."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Record:
    def __init__(self, events, older=False):
        self.events, self.older = events, older

    def of(self, kind):
        return [e for e in self.events if e["event"] == kind]

    def last(self, kind, key, default=None):
        found = [e[key] for e in self.of(kind) if key in e]
        return found[-1] if found else default

    def valid_ppl(self, epochs=None):
        """Best validation perplexity of the first `epochs` validations."""
        return min(e["ppl"] for e in self.of("valid")[:epochs])

    def valid_bleu(self, epochs=None):
        """Best BLEU of the development text in the first `epochs` validations."""
        return max(e["bleu"] for e in self.of("valid")[:epochs])

    @property
    def options(self):
        """What the run was started with; of an older record nothing."""
        return self.last("config", "options") or {}

    @property
    def test_ppl(self):
        return self.last("done", "test_ppl")


def read(path):
    """The record of a file with an event a line, or None."""
    try:
        return Record(lines_of(path, path.stat().st_mtime_ns))
    except FileNotFoundError:  # also where it was packed since one looked
        return None


def path_of(run, records=None):
    """The file that the run writes."""
    return (records or NEW) / f"{run.name}.jsonl"


def in_table(name, folder, older=False):
    part, _, run = name.partition("/")
    events = packed.table(folder / f"{part}.csv").events(run)
    return Record(events, older) if events else None


def named(name, records=None):
    """The record PART/NAME or None: of a folder of one's own, or of the new ones and the tables."""
    found = read((records or NEW) / f"{name}.jsonl")
    return found if found or records else in_table(name, RECORDS)


def legacy(run):
    """The older record with the same set-up, or None. A name without {seed} is of seed 1."""
    if not run.row.legacy or (run.seed != 1 and "{seed}" not in run.row.legacy):
        return None
    return in_table(run.row.legacy.format(seed=run.seed), LEGACY, older=True)


def find(run, records=None):
    """The record of a run, or None where it has not been trained; a folder of one's own has no
    older records beside it."""
    return named(run.name, records) or (legacy(run) if records is None else None)


def trained():
    """All records of runs that the repository or runs/new has."""
    for path in RECORDS.glob("*.csv"):
        table = packed.table(path)
        yield from (
            Record(table.events(run)) for run, row in table.rows.items() if row.get("program")
        )
    yield from filter(None, map(read, NEW.glob("*/*.jsonl")))


def pack():
    """Adds the new records to their parts' tables, and says how many."""
    count = 0
    for folder in sorted(path for path in NEW.glob("*") if path.is_dir()):
        with locks.held(NEW / "pack.lock"):
            table = packed.Table(RECORDS / f"{folder.name}.csv")
            new = {path: read(path) for path in folder.glob("**/*.jsonl")}
            if new:
                table.add(
                    {
                        str(path.relative_to(folder).with_suffix("")): r.events
                        for path, r in new.items()
                    }
                )
            for path in new:
                path.unlink()
            count += len(new)
    return count


def shorter(value, digits=6):
    """Six digits are enough of what happened while training."""
    if isinstance(value, list):
        return [shorter(v, digits) for v in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def keep(path, lines):
    """A record is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(
        "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in lines), encoding="utf-8"
    )
    part.rename(path)


# what the driver itself names: the event, and which sets of words were used
NAMES = ("event", "sets")


def without_words(name, events):
    """SystemExit where events have more than numbers: those of a run on a text of which nothing may
    be passed on. Keys of an event are the programs' names; keys within it may be words."""

    def told(value, inner):
        if isinstance(value, dict):
            keys = [k for k in value if inner and not re.fullmatch(r"[\d,]+( to [\d,]+)?", k)]
            rest = (v for k, v in value.items() if inner or k not in NAMES)
            return keys + [x for v in rest for x in told(v, True)]
        if isinstance(value, list):
            return [x for v in value for x in told(v, inner)]
        return [value] * isinstance(value, str)

    if found := told(events, False):
        raise SystemExit(
            f"{name}: its record would have {len(found)} texts where numbers are expected, and"
            " nothing of this corpus may be passed on"
        )


def take(run, other, records=None):
    """The record of a run that is another one; its configuration says which."""
    config, *lines = named(other.name, records).events
    keep(path_of(run, records), [{"same_run_as": other.name, **config}, *lines])


TEXTS = ("train", "valid", "test", "src", "tgt", "valid_src", "valid_tgt", "test_src", "test_tgt")
LEFT_OUT = {
    "start": ("step", "epoch", "time_s", "threads"),
    "valid": ("epoch", "time_s", "loss", "nll", "tokens", "best"),
    "done": ("best_checkpoint", "parameters", "stopped_early"),
}


def middle(values):
    return sorted(values)[len(values) // 2]


def training(train, best_step):
    """What remains of the events `train`: medians, the last value, and what the best checkpoint has
    learned."""
    event = {"event": "training"}
    event |= {
        k: middle([e[k] for e in train]) for k in ("tokens_per_s", "grad_norm") if k in train[-1]
    }
    event |= {k: train[-1][k] for k in ("ppl", "context_norm", "context_max") if k in train[-1]}
    learned = [e["learned"] for e in train if "learned" in e and e["step"] <= best_step]
    return event | ({"learned": learned[-1]} if learned else {})


def summary(events, series=False):
    """What tables and checks need of a run's events; with `series` also a mixture's prior over all
    of training."""
    train = [e for e in events if e["event"] == "train"]
    kept = [
        {k: v for k, v in e.items() if k not in LEFT_OUT.get(e["event"], ())}
        for e in events
        if e["event"] not in ("train", "test")  # `done` has the test
    ]
    for e in kept:  # tables print four digits of a prior
        e |= {k: shorter(e[k], 8) for k in ("pi_mean", "pi_var") if k in e}
    if train:
        best = next((e["best_step"] for e in kept if "best_step" in e), train[-1].get("step", 0))
        kept.append(training(train, best))
    if series:
        kept += [{k: e[k] for k in ("event", "step", "pi_mean")} for e in train if "pi_mean" in e]
    return kept


def has_series(run):
    """Whether the prior is drawn over the run's training (figures.prior)."""
    return run.seed == 1 and run.row.group == "mixture"


def write(run, run_directory, machine, cpu_s, records=None, **more):
    """The record of a finished run."""
    config = json.loads((run_directory / "config.json").read_text())
    for key in TEXTS:  # no folders of the machine's own
        if key in config:
            config[key] = [pathlib.PurePath(p).name for p in config[key]]
    config["vocab"] = pathlib.PurePath(config.get("vocab", "")).name
    config.pop("run", None)
    lines = [
        {
            "event": "config",
            "options": config,
            "machine": machine,
            "cpu_s": round(cpu_s, 1),
            "setup": run.setup,
            **more,
        }
    ]
    for line in (run_directory / "log.jsonl").read_text().splitlines():
        e = json.loads(line)
        if e["event"] == "train":
            e = {k: shorter(v) for k, v in e.items()}
        if e["event"] in ("start", "train", "valid", "done"):
            lines.append(e)
    config, *events = summary(lines, has_series(run))
    if private(run.setup):
        without_words(run.name, events)
    keep(path_of(run, records), [config, *events])
