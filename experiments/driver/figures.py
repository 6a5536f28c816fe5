"""The plots of the parts' pages, from the records: each function gives a part's SVG, or None where
nothing of it is known."""
from . import claims, measured, parts, plots, projection, statistics, tables, verdicts


def perplexities(part):
    rows = [(c.row.label, c.mean, c.interval, c.row.paper) for c in tables.cells(part)]
    axis = part.unit + " (the paper's: of its own text)" * any(row[3] for row in rows)
    return plots.dots(part.title, axis, rows) if any(row[1] for row in rows) else None


def variances(part):
    """T2."""
    rows = []
    for label, seeds in tables.t2_values(part).items():
        rho = label.partition(":")[2]
        paper = parts.T2_PAPER[float(rho)][0] if rho else None
        rows.append((label, *statistics.average([v[1] for v in seeds.values()]), paper))
    return plots.dots("100 E Var_k(π) of nine softmaxes by penalty", "100 E Var_k(π)", rows)


def predicted(part):
    """R1."""
    found = {head: e["ppl"] for head, e in projection.predictions().items()}
    by = projection.cells(part)
    rows = [(label, c.mean, c.interval, found.get(label)) for label, c in by.items()]
    return plots.dots(part.title, "validation perplexity", rows, "predicted")


def gaps(part):
    """R3: to the floor, over width."""
    points = lambda by_width: [
        (width, *statistics.average(list(gap.logs.values())))
        for width, (gap, _) in by_width.items()
        if gap.values
    ]
    lines = [(head, points(by_width)) for head, by_width in measured.widths(part).items()]
    return plots.lines(part.title, "width", "nats a token above the floor", lines)


def over_rates(part):
    """M-rates."""
    by = {}
    for c in tables.cells(part):
        points = by.setdefault(c.row.group, [])
        points += [(float(c.row.label.partition("lr=")[2]), c.mean, c.interval)] * bool(c.values)
    return plots.lines(part.title, "learning rate", "test perplexity", list(by.items()))


def over_texts(part):
    """Curve: over the number of captions."""
    series = [
        (label, [(n, *claims.exponents(statistics.mean(x.by_seed), x.wide)) for n, x in on.items()])
        for label, on in verdicts.over_texts(tables.by_label(part), part).items()
    ]
    return plots.lines(part.title, "captions", "test perplexity over lin's", series)


def sampled(part):
    """SS: over the number of samples."""
    series = []
    for full, cells in verdicts.beside_full(tables.cells(part)):
        number = lambda c: int(c.row.options.partition("--sampled-softmax ")[2].split()[0])
        series.append(
            (
                full.row.label.removeprefix("full, "),
                [(number(c), *statistics.ratio(logs)) for c in cells if (logs := c.against(full))],
            )
        )
    return plots.lines(part.title, "samples", "test perplexity over the full softmax's", series)


def averages(part, axis, cells, figure):
    """A row for each model that is measured: the mean of `figure` of its events."""
    rows = [
        (label, *statistics.average(list(map(figure, c.values.values()))), None)
        for label, c in cells.items()
        if c.values
    ]
    return plots.dots(part.title, axis, rows)


def angles(part):
    """MF."""
    axis = "mean angle to the nearest of the 100 most frequent words, degrees"
    return averages(part, axis, measured.angle_cells(part), lambda e: e[measured.ANGLES[0]])


def corrected(part):
    """R2: each margin, plain and corrected."""
    rows = [
        (f"{label}, {kind}", *statistics.average([v[kind] for v in c.values.values()]), None)
        for label, c in measured.corrected_cells(part).items()
        for kind in ("plain", "corrected")
        if c.values and (kind == "plain" or label != "m=0")
    ]
    return plots.dots(part.title, "test perplexity", rows)


def word_errors(part):
    """M5."""
    axis, figure = "word error rate of the test lists, %", lambda e: e["rescored"]["wer"]
    return averages(part, axis, measured.rescored(part), figure)


def close_words(part):
    """D, D-S and D-S-content."""
    cells = measured.restricted(part)
    return averages(part, "accuracy on the rule's sets, %", cells, measured.accuracy)


def prior(part):
    """T3, T3-L: how much of the prior is on inner products while the tied presets train, seed 1."""
    lines = [
        (c.row.label, verdicts.share_over_training(c.row.options, c.records[1]))
        for c in tables.cells(part)
        if c.row.group == "mixture" and 1 in c.records and not c.row.label.endswith("untied")
    ]
    return plots.curves("The prior's share on inner products, seed 1", "update", lines)
