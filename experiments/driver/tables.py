"""The tables of docs/results/, from the records: Markdown, one row of a part a line."""
import collections
import math

from . import parts, records, search, statistics
from .setups import MEDIUM, SETUPS, name_of

DASH = "–"


def safe(label):
    return name_of("", label, 0)[1:-2]


def common_seeds(mine, theirs):
    return sorted(mine.keys() & theirs.keys())


def paired_differences(mine, theirs):
    """Differences of {seed: number}, of the seeds that both have."""
    return [mine[s] - theirs[s] for s in common_seeds(mine, theirs)]


class Cells:
    """What the records have of one row: {seed: value}; `jobs` are its runs, or what is measured of
    them, by seed."""

    def __init__(self, row, jobs, figure, folder=None):
        self.row = row
        found = {job.seed: records.find(job, folder) for job in jobs}
        self.records = {seed: r for seed, r in found.items() if r}
        self.values = {seed: figure(r) for seed, r in self.records.items()}

    @property
    def logs(self):
        return {seed: math.log(v) for seed, v in self.values.items()}

    @property
    def interval(self):
        """Of the perplexity, by way of its logarithm; None with fewer than two seeds."""
        found = statistics.interval(list(self.logs.values()))
        return found and (math.exp(found[0]), math.exp(found[1]))

    @property
    def mean(self):
        return math.exp(statistics.mean(list(self.logs.values()))) if self.values else None

    @property
    def average(self):
        """(mean, interval) of the figures themselves, of BLEU, which may be 0."""
        return statistics.average(list(self.values.values()))

    def against(self, other):
        """Differences of logarithms, paired by seed."""
        return paired_differences(self.logs, other.logs)

    def minus(self, other):
        """Differences of the figures themselves, paired by seed."""
        return paired_differences(self.values, other.values)

    def started_with(self, key):
        return next((r.last("start", key) for r in self.records.values()), None)

    @property
    def parameters(self):
        return self.started_with("parameters")

    def size(self, part):
        """The cells of a table that say how much was trained: parameters, tokens, seeds."""
        tokens = self.started_with("train_tokens")
        return [
            whole(self.parameters),
            whole(tokens and tokens * (self.row.epochs or part.epochs)),
            str(len(self.values)),
        ]


def figure_of(part):
    """Test perplexity of the best checkpoint; where older records ran for longer than the part,
    validation perplexity after its epochs."""
    if part.unit == "validation perplexity":
        return lambda r: r.of("valid")[part.epochs - 1]["ppl"]
    if part.unit == "test BLEU":
        return lambda r: r.last("done", "test_bleu")
    return lambda r: r.test_ppl


def cells(part, folder=None):
    return [Cells(row, part.runs_of(row), figure_of(part), folder) for row in part.rows]


def by_label(part, folder=None):
    return {c.row.label: c for c in cells(part, folder)}


def measured(part, figure, folder=None):
    """{label: Cells} of what is measured."""
    jobs = {}
    for m in part.measures:
        jobs.setdefault(m.label, []).append(m)
    return {
        label: Cells(parts.Row(label, "", seeds=len(some)), some, figure, folder)
        for label, some in jobs.items()
    }


def whole(n):
    return f"{n:,}" if n else DASH


def with_interval(value, bounds, digits=2):
    if value is None:
        return "not run"
    told = f" [{bounds[0]:.{digits}f}, {bounds[1]:.{digits}f}]" if bounds else ""
    return f"{value:.{digits}f}{told}"


def shown(xs, digits=2):
    return with_interval(*statistics.average(xs), digits)


def ratio(paired, level=0.95):
    """Of two rows, with its interval, from differences of logarithms."""
    return with_interval(*statistics.ratio(paired, level), 3)


def verdict(decision, figure):
    """A page's lines: the verdict, and an item for each figure where there are several."""
    if figure == DASH:
        return f"**{decision}.**"
    figures = figure.split("; ")
    told = f" {figure}." if len(figures) == 1 else "".join(f"\n- {one}." for one in figures)
    gap = "\n" if len(figures) > 1 else ""
    return f"**Verdict by the [rule](rules.md#part-by-part): {decision}.** Figures:{gap}{told}"


def p_value(p):
    return DASH if p is None else "< .0001" if p < 1e-4 else f"{p:.4f}".replace("0.", ".", 1)


def markdown(header, lines):
    """`header`: the columns' names, or one string of them with " | " between."""
    names = header.split(" | ") if isinstance(header, str) else header
    told = [f"| {' | '.join(line)} |" for line in [names, *lines]]
    return "\n".join([told[0], "|" + "---|" * len(names), *told[1:]])


def devices(table):
    """How many runs were trained on which GPU, in a sentence; empty where none was."""
    every = [r.options.get("resolved", {}) for c in table for r in c.records.values()]
    gpus = collections.Counter(resolved.get("gpu", "").partition(",")[0] for resolved in every)
    return "".join(
        f" {'All' if n == len(every) else f'{n} of {len(every)}'} were trained on one {gpu}"
        " ([device](rules.md#common-to-all-parts))."
        for gpu, n in sorted(gpus.items())
        if gpu
    )


def head(part, table):
    """How many seeds there are, said before the table."""
    seeds, wanted = [len(c.values) for c in table], sum(c.row.seeds or part.seeds for c in table)
    least, most = min(seeds), max(seeds)
    older = sum(r.older for c in table for r in c.records.values())
    return (
        f"**{least if least == most else f'{least} to {most}'} of {part.seeds} seeds: {sum(seeds)} of"
        f" {wanted} runs are in the records**"
        + (f", {older} of them older than the rules" if older else "")
        + f". {next(iter(table)).row.epochs or part.epochs} epochs each; {part.unit}, with Student's 95% interval where there are two"
        f" seeds or more.{devices(table)}{part.note and ' ' + part.note}"
    )


def beside(table, base, differ=Cells.against):
    """({label: differences to the row `base`}, {label: Holm's p})."""
    paired = {c.row.label: differ(c, base) for c in table if c is not base}
    return paired, statistics.holm_paired(paired)


def comparison(part, reference, folder=None):
    """The general table: figure, ratios to the reference's beside the paper's, paired difference
    with interval, Holm's p."""
    table = cells(part, folder)
    base = next(c for c in table if c.row.label == reference)
    paired, corrected = beside(table, base)
    lines = []
    for c in table:
        label, paper, xs = c.row.label, c.row.paper, paired.get(c.row.label)
        lines.append(
            [
                *(f"`{label}`" if label[0].islower() else label, *c.size(part)),
                with_interval(c.mean, c.interval),
                ratio(xs) if xs else "1" if c is base else DASH,
                *((f"{paper:g}", f"{paper / base.row.paper:.3f}") if paper else (DASH, DASH)),
                p_value(corrected.get(label)),
            ]
        )
    config = next((next(iter(r.of("config")), {}) for c in table for r in c.records.values()), {})
    told = (
        f" The exact perplexity of the test text is {config['floor']:.2f}, by word frequencies"
        f" alone {config['unigram']:.2f}."
        if "floor" in config
        else ""
    )
    header = (
        f"row | parameters | tokens | seeds | {part.unit} | ratio to {reference}, paired by seed"
    )
    header += f" | paper | paper's ratio to {reference} | p, Holm"
    return f"{head(part, table)}{told}\n\n{markdown(header, lines)}"


def variants(what, variant, told):
    """A table of the rows that have a variant, the row `LABEL, variant`: what that is beside
    them."""

    def table(part, folder=None):
        by = by_label(part, folder)
        with_one = {label: by.get(f"{label}, {variant}") for label in by}
        paired = {label: c.against(by[label]) for label, c in with_one.items() if c}
        corrected = statistics.holm_paired(paired)
        lines = [
            [f"`{label}`", ratio(xs) if xs else "not run", p_value(corrected[label])]
            for label, xs in paired.items()
        ]
        return markdown(f"{what} | {told}, test perplexity, paired by seed | p, Holm", lines)

    return table


def averaging(part, folder=None):
    """MoS: after which epoch ASGD began to average, by seed."""

    def first(record):
        began = [i for i, e in enumerate(record.of("valid"), 1) if e["averaging"]]
        return str(began[0]) if began else "never"

    told = [
        f"`{c.row.label}` {', '.join(map(first, c.records.values())) or DASH}"
        for c in cells(part, folder)
        if "asgd" in c.row.options
    ]
    return f"Averaging began after these epochs: {'; '.join(told)}."


def best_epochs(part, folder=None):
    """After which epoch each row has its best validation, by seed: the last says that it was cut
    off."""

    def best(record):
        ppl = [e["ppl"] for e in record.of("valid")]
        return str(1 + ppl.index(min(ppl)))

    told = [
        f"`{c.row.label}` {', '.join(map(best, c.records.values())) or DASH}"
        for c in cells(part, folder)
    ]
    return f"Best validation after these epochs of {part.epochs}: {'; '.join(told)}."


def learned_scales(part, folder=None):
    """R4 and R4-MT: each head's scale at its best checkpoint, by seed."""
    lines = []
    for c in cells(part, folder):
        if "scale=learn" in c.row.options:
            found = [next(iter(r.last("training", "learned").values())) for r in c.records.values()]
            lines.append([f"`{c.row.label}`", ", ".join(f"{scale:.2f}" for scale in found) or DASH])
    return markdown("head | learned scale at the best checkpoint, by seed", lines)


def bleu_comparison(part, folder=None):
    """BLEU, which may be 0, by arithmetic means, and its difference to the first row's, paired by
    seed."""
    table = cells(part, folder)
    differences, corrected = beside(table, table[0], Cells.minus)
    lines = []
    for c in table:
        label, xs = c.row.label, differences.get(c.row.label)
        line = [f"`{label}`", whole(c.parameters), str(len(c.values)), with_interval(*c.average)]
        lines.append([*line, shown(xs) if xs else DASH, p_value(corrected.get(label))])
    first = f"minus {table[0].row.label}, paired by seed"
    header = f"row | parameters | seeds | {part.unit} | {first} | p, Holm"
    return f"{head(part, table)}\n\n{markdown(header, lines)}"


def searches(tuning=parts.T1_TUNING, folder=None):
    """What a search tried: the best validation perplexity of its epochs, the choice in bold."""
    folder, lines = search.where(folder, tuning), []
    for kernel in tuning.ladders:
        # of a kernel without parameters the rate alone
        alone = {kernel: f"lr={tuning.rate:g}"}
        told = lambda label: alone.get(label, label.removeprefix(f"{kernel} "))
        chosen, rate, pending = search.state(kernel, folder, tuning)
        best = chosen and tuning.rate_run(chosen, rate).row.label
        tried = [
            f"`{told(name)}`: {figure}".join(["**"] * 2 if name == best else [""] * 2)
            for name, figure in search.searched(kernel, folder, tuning)
        ]
        left = f"next: {', '.join(told(run.row.label) for run in pending)}" if pending else "done"
        lines.append([kernel, "; ".join(tried) or DASH, left])
    epochs = "two" if tuning.epochs == 2 else tuning.epochs
    header = f"kernel | best validation perplexity of {epochs} epochs, seed 1 | search"
    return markdown(header, lines)


# ---- T2: the prior's statistics ----


def prior_statistics(event):
    """(100 E_n Var_k(pi_nk), CV^2 of the components' means) of a validation; variances divide by
    K."""
    means, variances = event["pi_mean"], event["pi_var"]
    k = len(means)
    second = math.fsum(v + m * m for m, v in zip(means, variances)) / k
    mean = math.fsum(means) / k
    return 100 * (second - 1 / k**2), math.fsum(m * m for m in means) / k / mean**2 - 1


def t2_values(part, folder=None):
    """{label: {seed: (perplexity, 100 E Var, CV^2)}}"""
    found = {}
    for label, c in by_label(part, folder).items():
        events = {s: r.of("valid")[part.epochs - 1] for s, r in c.records.items()}
        found[label] = {s: (e["ppl"], *prior_statistics(e)) for s, e in events.items()}
    return found


def t2_table(part, folder=None):
    table, values = by_label(part, folder), t2_values(part, folder)
    _, corrected = beside(table.values(), table["none"])
    lines = []
    for label, c in table.items():
        columns = [
            shown([v[place] for v in values[label].values()], digits)
            for place, digits in ((1, 2), (2, 3))
        ]
        rho = label.partition(":")[2]
        variance, ppl = (f"{x:g}" for x in parts.T2_PAPER[float(rho)]) if rho else (DASH, DASH)
        ours = with_interval(c.mean, c.interval)
        p = p_value(corrected.get(label))
        lines.append([f"`{label}`", *c.size(part), *columns, variance, ours, ppl, p])
    header = (
        "penalty | parameters | tokens | seeds | 100 E Var_k(π) | CV² of the means"
        f" | paper's variance | {part.unit} | paper's perplexity | p against none, Holm"
    )
    return f"{head(part, table.values())}\n\n{markdown(header, lines)}"


def commands(part):
    """How to repeat each row, into records of one's own."""
    again = lambda label: f"    experiments/run {part.name} --only '{label}' --records runs/records"
    lines = []
    for row in part.rows:
        setup = SETUPS[row.setup or part.setup]
        precision = f" {MEDIUM}" if MEDIUM in setup.options else ""
        lines.append(f"{again(row.label)}   # {setup.program} {row.options}{precision}")
    own = {row.label for row in part.rows}
    runs = {m.label: m.needs[0].name.rpartition("-")[0] for m in part.measures}
    lines += [f"{again(k)}   # measured of {of}" for k, of in runs.items() if k not in own]
    trained = [part.run(row, 1) for row in part.rows] + [r for m in part.measures for r in m.needs]
    told = [
        "To repeat a row, set `DATA` ([the texts](../../experiments/data.md)) and run its command."
        f" `experiments/table {part.name} --records runs/records` then prints its figure."
        " The text after `#` is what the row adds to the [set-up](rules.md#common-to-all-parts)."
    ]
    if devices(cells(part)):
        told.append("Add `--device cuda` to train on a GPU, as the table's runs were.")
    if any(MEDIUM in SETUPS[run.setup].options + run.row.options for run in trained):
        told.append(
            "On a CPU that does not multiply bfloat16, put `NINE_BF16_TILES=pairs` before the command."
        )
    return f"{' '.join(told)}\n\n" + "\n".join(lines)
