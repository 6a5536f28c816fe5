"""The runs of lm_train and mt_train as frames of pandas."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Union

if TYPE_CHECKING:
    import pandas

__all__ = ["log", "runs"]

_Path = Union[str, "os.PathLike[str]"]
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_RESULTS = ("best_valid_ppl", "test_ppl", "best_bleu", "test_bleu", "best_step", "stopped_early")


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "nine.runs and nine.log return frames of pandas, which is not installed: pip install "
            "pandas"
        ) from error
    return pandas


def _read_log(file: Path) -> List[Dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").split("\n")
    events = []
    for number, line in enumerate(lines, 1):
        if number == len(lines):  # what a running program has not finished yet
            break
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise ValueError(f"{file}, line {number}: no event of a log")
        events.append(
            {k: _NUMBERS.get(v, v) if isinstance(v, str) else v for k, v in event.items()}
        )
    return events


def _is_run(directory: Path) -> bool:
    return (directory / "log.jsonl").is_file() and (directory / "config.json").is_file()


def log(run: _Path, event: str = "valid") -> "pandas.DataFrame":
    """Returns the events of one kind of a run's log, by step: "train", "valid", "test", "start",
    "done", "translation", ... (docs/formats.md, log.jsonl). Error: there is no run."""
    pandas = _pandas()
    directory = Path(run)
    if not _is_run(directory):
        raise FileNotFoundError(f"{directory} is no run: it has no config.json and log.jsonl")
    events = [e for e in _read_log(directory / "log.jsonl") if e.get("event") == event]
    frame = pandas.DataFrame([{k: v for k, v in e.items() if k != "event"} for e in events])
    return frame.set_index("step") if "step" in frame else frame


def runs(directory: _Path) -> "pandas.DataFrame":
    """Returns a row for each run in the directory, at any depth, by path.

    The columns are the state ("done" or "running", which is also that of a run that was stopped),
    the step, the results, the last validation, and the settings of config.json. Error: there is no
    run.
    """
    pandas = _pandas()
    root = Path(directory)
    found = sorted({f.parent for f in root.rglob("log.jsonl") if _is_run(f.parent)})
    if not found:
        raise FileNotFoundError(f"{root} has no runs: no directory with config.json and log.jsonl")
    rows = []
    for run in found:
        events = _read_log(run / "log.jsonl")
        last = {e.get("event"): e for e in events}
        done, valid = last.get("done", {}), last.get("valid", {})
        row: Dict[str, Any] = {
            "run": str(run.relative_to(root)),
            "state": "done" if done else "running",
        }
        row["step"] = max((e.get("step", 0) for e in events), default=0)
        row["time_s"] = max((e.get("time_s", 0.0) for e in events), default=0.0)
        row["parameters"] = last.get("start", {}).get("parameters")
        row.update({key: done[key] for key in _RESULTS if key in done})
        row.update({f"last_{key}": valid[key] for key in ("nll", "ppl", "bleu") if key in valid})
        config = json.loads((run / "config.json").read_text(encoding="utf-8"))
        # "run" names where the run was made, which need not be where it lies.
        row.update({k: v for k, v in config.items() if k not in row and k != "resolved"})
        rows.append(row)
    return pandas.DataFrame(rows).set_index("run")
