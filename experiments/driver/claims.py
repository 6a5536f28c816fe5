"""Claims that are judged in four words (docs/results/rules.md), by intervals that cover the seeds
and the test text."""
import dataclasses
import functools
import math
import random

from . import statistics, tables
from .setups import corpus_of

RESAMPLES = 1000
AGREES, IN_PART, DISAGREES, NOT_SHOWN = "agrees", "in part", "disagrees", "not shown"


def judged(bounds, low, high):
    """Agrees where an interval lies from `low` to `high`, disagrees where it lies wholly outside."""
    if bounds is None or bounds[0] < low < bounds[1] or bounds[0] < high < bounds[1]:
        return NOT_SHOWN
    return AGREES if low <= bounds[0] and bounds[1] <= high else DISAGREES


def common(verdicts):
    """The verdict of several."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return IN_PART if {AGREES, IN_PART} & set(verdicts) else NOT_SHOWN


def percentiles(found, level):
    found, tail = sorted(found), (1 - level) / 2
    return found[round(tail * (len(found) - 1))], found[round((1 - tail) * (len(found) - 1))]


@functools.lru_cache(maxsize=None)
def resampled(units):
    """Σa / Σb of draws of as many units (a, b) with replacement, seeded."""
    draw = random.Random(1)
    figure = lambda drawn: sum(a for a, _ in drawn) / sum(b for _, b in drawn)
    return [figure(draw.choices(units, k=len(units))) for _ in range(RESAMPLES)]


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of two rows: by seed, and on resamples of the test text, of the mean over the seeds."""

    by_seed: list
    drawn: list

    @property
    def wide(self):
        """The interval over both, or None where one of them is not known."""
        if not self.drawn:
            return None
        return statistics.wide(self.by_seed, statistics.deviation(self.drawn))

    @property
    def over_text(self):
        """The interval over the test text alone, or None."""
        return percentiles(self.drawn, 0.95) if self.drawn else None


def units(part, folder=None):
    """{row: cells of what is measured of each unit of the test text}"""
    return tables.measured(part, lambda r: next(e for e in r.events if "nats" in e), folder)


def perplexities(c, other, measured):
    """The Difference of two rows in log perplexity; `measured` is what `units` gives. Nothing is
    drawn until all models of both rows are measured."""
    mine, theirs = (measured[x.row.label].values for x in (c, other))
    seeds, drawn = tables.common_seeds(mine, theirs), []
    if seeds and seeds == tables.common_seeds(c.values, other.values):
        more = zip(*(map(float.__sub__, mine[s]["nats"], theirs[s]["nats"]) for s in seeds))
        drawn = resampled(tuple(zip(map(statistics.mean, more), mine[seeds[0]]["words"])))
    return Difference(c.against(other), drawn)


def exponents(logs, bounds):
    """A ratio and its interval, of logarithms."""
    return math.exp(logs), bounds and tuple(map(math.exp, bounds))


def ratio(logs, bounds):
    return tables.with_interval(*exponents(logs, bounds), 3)


def intervals(pairs, part, folder=None):
    """A table of pairs of rows: the ratio, with an interval over the seeds, over the units of the
    test text, and over both."""
    by, measured, lines = tables.by_label(part, folder), units(part, folder), []
    for label, other in pairs:
        found = perplexities(by[label], by[other], measured)
        if found.by_seed:
            told = lambda bounds: ratio(statistics.mean(found.by_seed), bounds)
            each = [
                told(b) for b in (statistics.interval(found.by_seed), found.over_text, found.wide)
            ]
            lines.append([f"`{label}`", f"`{other}`", str(len(found.by_seed)), *each])
    _, corpus = corpus_of(part.setup)
    header = "row | beside | seeds | perplexity ratio, over the seeds"
    header += f" | over the {corpus.units} | over both"
    return tables.markdown(header, lines) if lines else "No two rows have a seed in common yet."
