"""Records of runs: one .jsonl a run, experiments/records/PART/NAME.jsonl, and the older ones of experiments/heads/, which lack `config` and `train`."""
import functools
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDS = ROOT / "experiments" / "records"
LEGACY = ROOT / "experiments" / "heads"


@functools.lru_cache(maxsize=None)
def events(path, changed):
    """A file is read once as long as it has not `changed`."""
    return [json.loads(line) for line in path.read_text().splitlines()]


class Record:
    def __init__(self, path):
        self.path = path
        self.events = events(path, path.stat().st_mtime_ns)

    def of(self, kind):
        return [e for e in self.events if e["event"] == kind]

    def last(self, kind, key, default=None):
        found = [e[key] for e in self.of(kind) if key in e]
        return found[-1] if found else default

    def valid_ppl(self, epochs=None):
        """Best validation perplexity of the first `epochs` validations."""
        return min(e["ppl"] for e in self.of("valid")[:epochs])

    @property
    def options(self):
        """What the run was started with; of an older record nothing."""
        return self.last("config", "options") or {}

    @property
    def test_ppl(self):
        return self.last("done", "test_ppl")


def path_of(run, records=None):
    return (records or RECORDS) / f"{run.name}.jsonl"


def legacy_path(run):
    """The older record with the same set-up, or None. A name without {seed} is of seed 1."""
    if not run.row.legacy or (run.seed != 1 and "{seed}" not in run.row.legacy):
        return None
    path = LEGACY / (run.row.legacy.format(seed=run.seed) + ".jsonl")
    return path if path.exists() else None


def find(run, records=None):
    """The record of a run, or None where it has not been trained; a folder of one's own has no older records beside it."""
    path = path_of(run, records)
    if path.exists():
        return Record(path)
    path = legacy_path(run) if records is None else None
    return Record(path) if path else None


def shorter(value):
    """Six digits are enough of what happened while training."""
    return float(f"{value:.6g}") if isinstance(value, float) else [shorter(v) for v in value] if isinstance(value, list) else value


def keep(path, lines):
    """A record is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in lines), encoding="utf-8")
    part.rename(path)


def take(run, other, records=None):
    """The record of a run that is another one; its configuration says which."""
    config, *lines = Record(path_of(other, records)).events
    keep(path_of(run, records), [{"same_run_as": other.name, **config}, *lines])


def write(run, run_directory, machine, cpu_s, records=None, **more):
    """The record of a finished run: configuration, then start, every validation, test, end, and the training lines (20 updates each)."""
    config = json.loads((run_directory / "config.json").read_text())
    for key, value in config.items():  # no folders of the machine's own
        if key in ("train", "valid", "test", "src", "tgt", "valid_src", "valid_tgt", "test_src", "test_tgt"):
            config[key] = [pathlib.PurePath(p).name for p in value]
    config["vocab"] = pathlib.PurePath(config.get("vocab", "")).name
    config["run"] = run.name
    lines = [{"event": "config", "options": config, "machine": machine, "cpu_s": round(cpu_s, 1), "setup": run.setup, **more}]
    for line in (run_directory / "log.jsonl").read_text().splitlines():
        e = json.loads(line)
        if e["event"] == "train":
            e = {k: shorter(v) for k, v in e.items() if k not in ("peak_mib",)}
        if e["event"] in ("start", "train", "valid", "test", "done"):
            lines.append(e)
    keep(path_of(run, records), lines)
