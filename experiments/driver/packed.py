"""Records as tables: one file a part, PART.csv, one line a run, sorted by run.

A record is a list of events, as in log.jsonl: {"event": "valid", "step": 175, "ppl": 36.1}. The
column `valid.ppl` has a value of each of a run's `valid` events, with "; " between them; a column
without a dot is of the configuration, the event `config`. A value is JSON or, where that is no
other value, a string without quotes. All tables have the same columns, so that a new key changes
no other line: the last column has what no column is for, as `rank.rank=10 | rank.words=1051`.

A run's options are written where they differ from experiments/options/PROGRAM.csv, which must not
change: older lines count on it. What single words, sentences and updates gave is in PART.csv.xz.
"""
import csv
import functools
import io
import json
import lzma
import pathlib

OPTIONS = pathlib.Path(__file__).resolve().parents[1] / "options"
BETWEEN = "; "
SINGLE = (
    "restricted.images",
    "translations.resamples",
    "rescoring.words",
    "rescoring.errors",
    "images.nats",
    "images.words",
    "units.nats",
    "units.words",
    "train.step",
    "train.pi_mean",
)
COLUMNS = (
    *("run", "program", "setup", "options", "resolved", "machine", "cpu_s"),
    *("done.test_ppl", "done.test_bleu", "done.best_valid_ppl", "done.best_step"),
    *("done.step", "done.epoch", "done.time_s"),
    *("start.parameters", "start.vocab", "start.train_tokens", "start.unknown_share"),
    *("training.ppl", "training.tokens_per_s", "training.grad_norm"),
    *("valid.step", "valid.ppl", "valid.bleu", "valid.pi_mean", "valid.pi_var", "other"),
)
OTHERS = " | "
csv.field_size_limit(1 << 26)


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def text_of(value):
    if (
        isinstance(value, str)
        and value.isprintable()
        and not set(";|") & set(value)
        and value_of(value) == value != ""
    ):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text.replace(";", "\\u003b").replace("|", "\\u007c")


def pairs(text):
    """{name: value} of "name=value; name="; the second has no value."""
    split = [pair.partition("=") for pair in text.split(BETWEEN) if pair]
    return {name: value_of(value) if value else None for name, _, value in split}


@functools.lru_cache(maxsize=None)
def usual(program):
    """The options of a program where a record does not name them."""
    with open(OPTIONS / f"{program}.csv", encoding="utf-8", newline="") as file:
        return {row["option"]: value_of(row["value"]) for row in csv.DictReader(file)}


def program_of(options):
    return "mt_train" if "src" in options else "lm_train"


def cells_of_options(options):
    program = program_of(options)
    own, common = dict(options), usual(program)
    resolved = own.pop("resolved", {})
    told = {name: text_of(v) for name, v in own.items() if name not in common or common[name] != v}
    told |= {name: "" for name in common if name not in own}
    return {
        "program": program,
        "options": BETWEEN.join(f"{name}={told[name]}" for name in sorted(told)),
        "resolved": BETWEEN.join(f"{name}={text_of(v)}" for name, v in resolved.items()),
    }


def cells_of(events):
    """{column: text} of a record."""
    kinds, cells = {}, {}
    for event in events:
        kinds.setdefault(event["event"], []).append(event)
    for kind, some in kinds.items():
        for key in dict.fromkeys(key for event in some for key in event if key != "event"):
            if (kind, key) == ("config", "options"):
                cells |= cells_of_options(some[0]["options"])
                continue
            column = key if kind == "config" else f"{kind}.{key}"
            cells[column] = BETWEEN.join(text_of(e[key]) if key in e else "" for e in some)
    return cells


def events_of(cells):
    """The record of {column: text}."""
    config, kinds = {}, {}
    for column, text in cells.items():
        kind, dot, key = column.partition(".")
        if not dot:
            config[column] = value_of(text)
            continue
        texts = text.split(BETWEEN)
        events = kinds.setdefault(kind, [{"event": kind} for _ in texts])
        for event, value in zip(events, texts, strict=True):
            if value:
                event[key] = value_of(value)
    if program := config.pop("program", None):
        told = pairs(cells.get("options", ""))
        options = {**usual(program), **told}
        options = {name: v for name, v in options.items() if told.get(name, v) is not None}
        if "resolved" in config:
            options["resolved"] = pairs(cells["resolved"])
            del config["resolved"]
        config["options"] = options
    return [{"event": "config", **config}] * bool(config) + [
        e for some in kinds.values() for e in some
    ]


def line_of(run, cells):
    """{column: text} with the columns of all tables."""
    others = [f"{c}={text}" for c, text in sorted(cells.items()) if c not in COLUMNS]
    return {"other": OTHERS.join(others)} | cells | {"run": run}


def cells_of_line(line):
    cells = {column: text for column, text in line.items() if text and column != "run"}
    others = cells.pop("other", "")
    return cells | dict(pair.split("=", 1) for pair in others.split(OTHERS) if pair)


def read(path):
    """{run: {column: text}} of a table; of a missing one nothing."""
    if not path.exists():
        return {}
    text = path.read_bytes()
    text = (lzma.decompress(text) if path.suffix == ".xz" else text).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows:
        if None in row or None in row.values():  # a merge may leave such a line
            raise SystemExit(f"{path}: the line {row['run']} has not the columns of the first line")
    return {row["run"]: row for row in rows}


def write(path, columns, rows):
    """A table is there whole or not at all."""
    made = io.StringIO(newline="")
    table = csv.DictWriter(made, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(rows[run] for run in sorted(rows))
    text = made.getvalue().encode()
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(
        lzma.compress(text, preset=9 | lzma.PRESET_EXTREME) if path.suffix == ".xz" else text
    )
    part.rename(path)


def single(path):
    return path.with_name(f"{path.name}.xz")


class Table:
    """A part's file."""

    def __init__(self, path):
        self.path = path
        self.rows = read(path)
        self.found = {}

    @functools.cached_property
    def outcomes(self):
        return read(single(self.path))

    def events(self, run):
        """None of a run that has no line."""
        if run in self.rows and run not in self.found:
            lines = (self.rows[run], self.outcomes.get(run, {}))
            self.found[run] = events_of(
                {k: v for line in lines for k, v in cells_of_line(line).items()}
            )
        return self.found.get(run)

    def add(self, records):
        """Writes the file again with {run: events}; a run that is there gets the new record."""
        whole, outcomes = dict(self.rows), dict(self.outcomes)
        for run, events in records.items():
            cells = cells_of(events)
            line = line_of(run, {c: text for c, text in cells.items() if c not in SINGLE})
            outcome = {c: text for c, text in cells.items() if c in SINGLE}
            if ordered(events_of(cells_of_line(line) | outcome)) != ordered(events):
                raise ValueError(f"{self.path}: {run} would be read as another record")
            whole[run] = line
            outcomes.pop(run, None)
            if outcome:
                outcomes[run] = {"run": run} | outcome
        if outcomes != self.outcomes:  # first, so that no line is without its outcomes
            write(single(self.path), ("run", *SINGLE), outcomes)
        write(self.path, COLUMNS, whole)


def ordered(events):
    """Records that say the same give the same: events of a kind keep their order, kinds do not."""
    return [json.dumps(e, sort_keys=True) for e in sorted(events, key=lambda e: e["event"])]


@functools.lru_cache(maxsize=None)
def _table(path, _changed):
    return Table(path)


def table(path):
    """Of a file that is read once as long as it does not change; a missing one is empty."""
    return _table(path, path.stat().st_mtime_ns if path.exists() else 0)
