"""Part R1: how good can a score be whose values lie in [m, M]? The posterior of a model without
bounds is taken for the true one, t; with the bias fixed to the unigram distribution q, the best
posterior of a bounded score is p_v proportional to q_v exp(s_v), s_v = clip(log(t_v S / q_v), m, M)
with S = sum_v q_v exp(s_v): where s_v is free its derivative of the cross-entropy, p_v - t_v, is 0.
The prediction is written to the record R1/prediction before a run is trained."""
import bisect
import collections
import itertools
import math
import subprocess

from . import machine, parts, records, statistics, tables
from .measured import rule
from .text import sentences

NAME = "R1/prediction"
EVERY = 100  # lines of the validation text: each hundredth


def wav_least(a, b):
    """The minimum of cos(q / a) exp(-q / b)."""
    x = math.pi - math.atan(a / b)
    return math.cos(x) * math.exp(-x * a / b)


def ranges():
    """{head: (m, M)}"""
    found = {
        "rbf:gamma=1": (0.0, 1.0),
        "wav:a=1:b=1": (wav_least(1, 1), 1.0),
        "wav:a=1:b=10": (wav_least(1, 10), 1.0),
    }
    found.update({f"rbf:scale={beta:g}": (0.0, float(beta)) for beta in (3, 10)})
    return found


def part():
    """The runs that the predictions are compared with; two have older records."""
    older = {head: f"singles/{name}-tuned-{{seed}}" for head, name in parts.SINGLES.items()}
    rows = [parts.trained(head, head, legacy=older.get(head, "")) for head in ranges()]
    return parts.shaped("R1", rows)


class Posterior:
    """One posterior t over words beside q, prepared so that each range takes O(log V)."""

    def __init__(self, t, q):
        order = sorted(range(len(t)), key=lambda v: t[v] / q[v])
        self.ratios = [math.log(t[v] / q[v]) if t[v] > 0 else -math.inf for v in order]
        self.q_below = [0.0, *itertools.accumulate(q[v] for v in order)]
        self.t_below = [0.0, *itertools.accumulate(t[v] for v in order)]

    def log_normaliser(self, least, most):
        """log S: the root of the falling function log(sum q exp(clip(r + z, m, M))) - z."""

        def total(z):
            i, j = bisect.bisect_left(self.ratios, least - z), bisect.bisect_right(
                self.ratios, most - z
            )
            free = math.exp(z) * (self.t_below[j] - self.t_below[i])
            return (
                math.exp(least) * self.q_below[i]
                + free
                + math.exp(most) * (self.q_below[-1] - self.q_below[j])
            )

        low, high = least - 1, most + 1
        for _ in range(60):
            z = (low + high) / 2
            low, high = (z, high) if math.log(total(z)) > z else (low, z)
        return (low + high) / 2

    def gain(self, t_of_word, q_of_word, least, most):
        """log(p / q) of a word under the best posterior."""
        z = self.log_normaliser(least, most)
        ratio = math.log(t_of_word / q_of_word) if t_of_word > 0 else -math.inf
        return min(max(ratio + z, least), most) - z


def unigram(train, min_count=3):
    """{word: share} of a training text, </s> counted, rarer words as <unk>."""
    lines = sentences(train)
    seen = collections.Counter(word for line in lines for word in line)
    counts = collections.Counter({"</s>": len(lines), "<unk>": 1})
    for word, n in seen.items():
        counts[word if n >= min_count else "<unk>"] += n
    return {word: n / counts.total() for word, n in counts.items()}


def positions(programs, checkpoint, sample, words):
    """Of each position of the sample (word, its probability, {word: probability})."""
    command = [programs / "lm_score", "--checkpoint", checkpoint, "--input", sample]
    command = [*map(str, command), *f"--top {words} --threads 1".split()]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=machine.environment("lm_score", command)
    ) as child:
        next(child.stdout)
        for line in child.stdout:
            cells = line.rstrip("\n").split("\t")
            yield cells[2], float(cells[3]), dict(zip(cells[5::2], map(float, cells[6::2])))
    if child.returncode:
        raise SystemExit("lm_score failed")


def predict(programs, checkpoint, train, valid, work, name):
    """Predicted validation perplexities: the unigram's on the whole text, less the gain over it on
    the sample, which varies far less than perplexity itself."""
    q = unigram(train)
    lines = sentences(valid)
    sample = work / "sample.en"
    sample.write_text("".join(" ".join(line) + "\n" for line in lines[::EVERY]), encoding="utf-8")
    whole = [word if word in q else "<unk>" for line in lines for word in [*line, "</s>"]]
    unigram_nll = -statistics.mean([math.log(q[w]) for w in whole])
    gains, own = {head: [] for head in ranges()}, []
    for word, p, top in positions(programs, checkpoint, sample, len(q)):
        word = word if word in q else "<unk>"
        order = list(q)
        posterior = Posterior([top.get(w, 0.0) for w in order], [q[w] for w in order])
        own.append(math.log(p / q[word]))
        for head, (least, most) in ranges().items():
            gains[head].append(posterior.gain(p, q[word], least, most))
    ppl = lambda gain: math.exp(unigram_nll - gain)
    model = {"event": "model", "name": name, "positions": len(own)}
    model |= {"unigram_ppl": round(ppl(0), 3), "ppl": round(ppl(statistics.mean(own)), 3)}
    made = [model]
    for head, g in gains.items():
        least, most = ranges()[head]
        found = {"event": "prediction", "head": head, "least": round(least, 4), "most": most}
        error = round(statistics.deviation(g) / math.sqrt(len(g)), 4)
        made.append({**found, "ppl": round(ppl(statistics.mean(g)), 2), "error": error})
    return made


def write(programs, checkpoint, train, valid, work, name, folder=None):
    records.keep(
        (folder or records.NEW) / f"{NAME}.jsonl",
        predict(programs, checkpoint, train, valid, work, name),
    )


def written(folder=None):
    """The record of the predictions: that in `folder`, else the repository's."""
    return records.named(NAME, folder) or records.named(NAME)


def predictions(folder=None):
    return {e["head"]: e for e in written(folder).of("prediction")}


def cells(part, folder=None):
    best = lambda record: record.valid_ppl(10)
    return {row.label: tables.Cells(row, part.runs_of(row), best, folder) for row in part.rows}


def over_trained(by, folder=None):
    """{label: predicted over trained}"""
    found = predictions(folder)
    return {k: found[k]["ppl"] / c.mean for k, c in by.items() if c.values and k in found}


@rule(cells)
def verdict(by, part, folder):
    found = over_trained(by, folder)
    told = ", ".join(f"{label} {ratio:.2f}" for label, ratio in found.items())
    return f"predicted over trained: {told}", all(1 / 1.1 <= r <= 1.1 for r in found.values())


def table(part, folder=None):
    found, by = predictions(folder), cells(part, folder)
    model, ratios, lines = written(folder).of("model")[0], over_trained(by, folder), []
    for label, c in by.items():
        e = found[label]
        predicted = f"{e['ppl']:.1f} ± {100 * e['error']:.1f}%"
        line = [f"`{label}`", f"[{e['least']:g}, {e['most']:g}]", predicted, str(len(c.values))]
        ratio = f"{ratios[label]:.2f}" if label in ratios else tables.DASH
        lines.append([*line, tables.with_interval(c.mean, c.interval, 1), ratio])
    header = "head | range of the score | predicted | seeds | trained, best validation perplexity"
    return (
        f"{tables.head(part, by.values())} Predicted from the run {model['name']}, validation"
        f" perplexity {model['ppl']:.1f} on {model['positions']} positions of a sample (the unigram's"
        f" on the whole text {model['unigram_ppl']:.1f}); ± is the sample's standard error.\n\n"
        + tables.markdown(f"{header} | predicted / trained", lines)
    )
