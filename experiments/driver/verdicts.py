"""What the rules of docs/results/rules.md say of the records: (reproduced | not reproduced |
undecided | not run, the figure)."""
import math

from . import parts, search, statistics, tables
from .measured import ALIKE, complete, decided, lacking, started
from .measures import inner_products


def counted(part, folder=None):
    """Cells of the rows that count in a verdict."""
    return [c for c in tables.cells(part, folder) if c.row.group not in parts.BESIDE]


def equivalence(paired):
    """(the ratio with its 90% interval, whether that lies within ±2.5%) of two rows: the rule of
    several parts."""
    return tables.ratio(paired, 0.90), bool(statistics.equivalent(paired, ALIKE))


def equivalences(figures):
    return "; ".join(figures) + " (intervals of 90%)" if figures else "no comparison yet"


def ordered(part, levels, folder=None):
    """T1's rule: every interval of a level lies below those of the next."""
    table = counted(part, folder)
    if not started(table):
        return "not run", tables.DASH
    by = {c.row.group: c for c in table}
    figure = ", ".join(
        f"{k} {by[k].mean:.1f}{apart(by[k])}" for level in levels for k in level if by[k].values
    )
    searching = [k for k in search.unfinished(folder) if k in parts.CHOICES[part.name]]
    if searching:
        return (
            "undecided",
            f"{figure}; {lacking(part, table)}, the search is not done for {', '.join(searching)}",
        )
    holds = complete(part, table) and all(
        by[a].interval[1] < by[b].interval[0]
        for low, high in zip(levels, levels[1:])
        for a in low
        for b in high
    )
    return decided(part, table, holds, figure)


def apart(c, limit=1.25):
    """Where seeds are of more than one kind, from where to where."""
    low, high = min(c.values.values()), max(c.values.values())
    return f" ({low:.1f} to {high:.1f})" if high > limit * low else ""


def t1(part, folder=None):
    return ordered(
        part, [("lin", "pow", "pol", "mog"), ("ssg",), ("log", "hpb"), ("rbf", "wav")], folder
    )


def t1_l(part, folder=None):
    return ordered(part, [("lin", "pow"), ("ssg",), ("log", "hpb"), ("rbf",)], folder)


def t2_readings(part, folder=None):
    """{(penalty, statistic): (log likelihood of the paper's four figures, the ρ whose figure lies
    outside of a new run's 95% interval)}, or None where a deviation is missing."""
    values = tables.t2_values(part, folder)
    found = {}
    for kind in ("variance", "cv2"):
        for place, name in ((1, "100 E Var"), (2, "CV²")):
            total, outside = 0.0, []
            for rho, (paper, _) in parts.T2_PAPER.items():
                xs = [v[place] for v in values[f"{kind}:{rho:g}"].values()]
                s = statistics.deviation(xs) * math.sqrt(1 + 1 / len(xs)) if len(xs) > 1 else 0
                if s == 0:
                    return None
                total += statistics.log_normal_density(paper, statistics.mean(xs), s)
                outside += [rho] * (
                    abs(paper - statistics.mean(xs))
                    > statistics.student_quantile(0.05, len(xs) - 1) * s
                )
            found[kind, name] = total, outside
    return found


def t2(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    values = tables.t2_values(part, folder)
    readings = "; ".join(
        f"{kind}: "
        + " ".join(
            (
                f"{statistics.mean([v[1] for v in values[f'{kind}:{r:g}'].values()]):.2f}"
                if values[f"{kind}:{r:g}"]
                else "?"
            )
            for r in parts.T2_PAPER
        )
        for kind in ("variance", "cv2")
    )
    figure = f"100 E Var_k(π) at ρ = .001 .01 .1 1, {readings}; the paper 4.74 4.98 3.67 3.81"
    found = t2_readings(part, folder)
    if not found or not complete(part, table):
        return "undecided", f"{figure}; {lacking(part, table)}"
    first, second = sorted(found, key=lambda reading: found[reading][0], reverse=True)[:2]
    ratio, outside = found[first][0] - found[second][0], found[first][1]
    figure += f"; likeliest {first[0]} with {first[1]}, e^{ratio:.1f} times the next"
    if ratio < math.log(20):
        return "undecided", figure
    return (
        ("not reproduced", f"{figure}, but not at ρ = {', '.join(f'{rho:g}' for rho in outside)}")
        if outside
        else ("reproduced", figure)
    )


def rising(by, labels, seeds):
    """Page's L and p over conditions in order, seeds as blocks."""
    blocks = [
        [by[label].values[s] for label in labels]
        for s in range(1, seeds + 1)
        if all(s in by[label].values for label in labels)
    ]
    return statistics.page(blocks) if blocks else None


def m1(part, folder=None):
    table = tables.cells(part, folder)
    by = {c.row.label: c for c in table}
    if not any(c.values for c in table if c.row.label != "base"):
        return "not run", tables.DASH
    base, figure, holds = by["base"], [], []
    for label, name, digits, least in (("lsm:2", "lsm:2", 2, 3), ("m=0", "m = 0", 3, 1.1)):
        paired = by[label].against(base)
        if paired:
            ratio = math.exp(statistics.mean(paired))
            figure.append(
                f"{name} {ratio:.{digits}f} × base (paper"
                f" {by[label].row.paper / base.row.paper:.{digits}f})"
            )
            holds.append(ratio >= least)
    for kind in ("arc", "cos"):
        page = rising(by, ["m=0"] + [f"{kind}:{m:g}" for m in parts.MARGINS[1:]], part.seeds)
        if page:
            figure.append(f"{kind}: Page's L = {page[0]:g}, p {tables.p_value(page[1])}")
            holds.append(page[1] < 0.01)
    return decided(
        part, table, len(holds) == 4 and all(holds), "; ".join(figure) or "no comparison yet"
    )


def m2(part, folder=None):
    table = tables.cells(part, folder)
    if not any(c.values for c in table if c.row.label != "none, contexts none"):
        return "not run", tables.DASH
    run = [c for c in table if c.values]
    tau = statistics.kendall([c.mean for c in run], [c.row.paper for c in run])
    by = {c.row.label: c for c in table}
    paired = by["none, contexts max"].against(by["none, contexts none"])
    gain = statistics.interval(paired)
    holds = tau >= 0.6 and gain is not None and gain[1] < 0
    figure = f"τ-b = {tau:.2f} over {len(run)} rows"
    if gain:
        figure += f"; max {tables.ratio(paired)} × none"
    return decided(part, table, holds, figure)


def best_rates(table):
    """{group: its row with the least mean validation perplexity}, of groups that have all rows of
    as many seeds."""
    found = {}
    for group in dict.fromkeys(c.row.group for c in table):
        own = [c for c in table if c.row.group == group]
        if all(c.values for c in own):
            found[group] = min(
                own,
                key=lambda c: statistics.mean(
                    [math.log(r.valid_ppl()) for r in c.records.values()]
                ),
            )
    return found


def rates(part, folder=None):
    """Whether normed contexts are as good as others when each has its own rate."""
    table = tables.cells(part, folder)
    if not started([c for c in table if not c.row.label.endswith("lr=0.002")]):
        return "not run", tables.DASH
    best, figure, holds = best_rates(table), [], []
    for group in ("m=0", "max"):
        paired = best[group].against(best["base"]) if group in best and "base" in best else []
        if paired:
            ratio, alike = equivalence(paired)
            figure.append(f"{best[group].row.label} {ratio} × {best['base'].row.label}")
            holds.append(alike)
    return decided(part, table, len(holds) == 2 and all(holds), equivalences(figure))


def m3(part, folder=None):
    table = tables.cells(part, folder)
    by = {c.row.label: c for c in table}
    if not any(c.values for c in table if c.row.label != "base"):
        return "not run", tables.DASH
    found = above_base(table)
    for kind in ("arc", "cos"):
        page = rising(by, [f"{kind}:{m:g}" for m in (0.001, 0.003, 0.006, 0.01)], part.seeds)
        if page:
            found.append(
                (f"{kind}: Page's L = {page[0]:g}, p {tables.p_value(page[1])}", page[1] < 0.01)
            )
    return decided(
        part,
        table,
        len(found) == 4 and all(h for _, h in found),
        "; ".join(f for f, _ in found) or "no comparison yet",
    )


def share_of_lin(c):
    """Mean over seeds of the prior's share on inner products at the last validation, or None."""
    shares = [share_over_training(c.row.options, r, "valid")[-1][1] for r in c.records.values()]
    return statistics.mean(shares) if shares else None


def share_over_training(options, record, kind="train"):
    """[(update, the prior's share on inner products)]"""
    lin = inner_products(options)
    return [
        (e["step"], sum(p for p, yes in zip(e["pi_mean"], lin) if yes))
        for e in record.of(kind)
        if "pi_mean" in e
    ]


def t3(part, folder=None):
    table = counted(part, folder)
    if not started(table):
        return "not run", tables.DASH
    lin, figure, holds = table[0], [], []
    for c in table:
        if c.row.group == "mixture" and not c.row.label.endswith("untied"):
            paired, share = c.against(lin), share_of_lin(c)
            if paired and share is not None:
                ratio, alike = equivalence(paired)
                figure.append(f"{c.row.label} {ratio} × lin, {100 * share:.0f}% of π on lin")
                holds.append(alike and share > 0.5)
    return decided(part, table, bool(holds) and all(holds), equivalences(figure))


def t3b(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    paired = {c.row.label: c.against(table[0]) for c in table[1:] if c.against(table[0])}
    if not paired:
        return "undecided", lacking(part, table)
    label = min(paired, key=lambda k: statistics.mean(paired[k]))
    bounds = statistics.interval(paired[label])
    figure = f"the best, {label}, {math.exp(statistics.mean(paired[label])):.3f} × lin"
    return decided(
        part,
        table,
        bounds is not None and bounds[0] > ALIKE,
        figure,
        middle=bounds is not None and bounds[0] <= ALIKE <= bounds[1],
    )


def above_base(table, base="base"):
    """[(figure, holds)] of arc and cos at .001: 0 to 5% above base."""
    by, found = {c.row.label: c for c in table}, []
    for kind in ("arc", "cos"):
        paired = by[f"{kind}:0.001"].against(by[base])
        bounds = statistics.interval(paired)
        if paired:
            found.append(
                (
                    f"{kind}:0.001 {tables.ratio(paired)} × base",
                    bool(bounds) and bounds[0] > 0 and bounds[1] < math.log(1.05),
                )
            )
    return found


def m_l(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    by, found = {c.row.label: c for c in table}, above_base(table)
    paired = by["max"].against(by["base"])
    bounds = statistics.interval(paired)
    if paired:
        found.insert(
            0,
            (f"max {math.exp(statistics.mean(paired)):.3f} × base", bool(bounds) and bounds[1] < 0),
        )
    return decided(
        part,
        table,
        len(found) == 3 and all(holds for _, holds in found),
        "; ".join(f for f, _ in found) or "no comparison yet",
    )


def mos(part, folder=None):
    """The interaction of head and regularisation in log perplexity."""
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    lin, lin_with, mos, mos_with = (c.logs for c in table)
    seeds = sorted(lin.keys() & lin_with.keys() & mos.keys() & mos_with.keys())
    found = [mos_with[s] - lin_with[s] - mos[s] + lin[s] for s in seeds]
    bounds = statistics.interval(found)
    figure = (
        f"interaction {statistics.mean(found):+.4f}"
        + (f" [{bounds[0]:.4f}, {bounds[1]:.4f}]" if bounds else "")
        if found
        else "no comparison yet"
    )
    return decided(part, table, bounds is not None and bounds[1] < 0, figure)


def closed(c):
    """The part of the way from word frequencies to the language itself, in nats, that a row closes;
    None without its records."""
    config = next((r.of("config")[0] for r in c.records.values()), {})
    return (
        math.log(config["unigram"] / c.mean) / math.log(config["unigram"] / config["floor"])
        if "unigram" in config
        else None
    )


def beside_full(table):
    """SS: (the full softmax, the sampled ones) of the generated language and of captions."""
    return (table[0], table[1:4]), (table[4], table[5:])


def ss(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    learnt, means, figure = closed(table[0]), [], []
    if learnt is not None:
        figure.append(f"the full softmax closes {100 * learnt:.0f}% of what can be learnt")
    for full, sampled in beside_full(table):
        for c in sampled:
            if paired := c.against(full):
                figure.append(f"{c.row.label} {tables.ratio(paired)} × full")
                means += [statistics.mean(paired)] if full is table[0] else []
    last = statistics.interval(table[3].against(table[0]))
    holds = (
        len(means) == 3
        and means == sorted(means, reverse=True)
        and last is not None
        and last[1] < math.log(1.03)
    )
    return decided(
        part,
        table,
        holds,
        "; ".join(figure) or "no comparison yet",
        middle=learnt is None or learnt < 0.5,
    )


def slopes(part, folder=None):
    """Whether a model ends near the kernel whose value it has."""
    table = tables.cells(part, folder)
    by = {c.row.label: c for c in table}
    mixed = [c for c in table if c.row.label.startswith("value")]
    if not started(mixed):
        return "not run", tables.DASH
    figure, holds = [], []
    for c in mixed:
        value, slope = (
            by[word] for word in (c.row.label.split()[2].rstrip(","), c.row.label.split()[-1])
        )
        if c.values and value.values and slope.values:
            figure.append(
                f"{c.row.label} {c.mean:.1f} ({value.row.label} {value.mean:.1f},"
                f" {slope.row.label} {slope.mean:.1f})"
            )
            holds.append(abs(math.log(c.mean / value.mean)) < abs(math.log(c.mean / slope.mean)))
    return decided(
        part, table, bool(holds) and all(holds), "; ".join(figure) or "no comparison yet"
    )


def warmed(part, folder=None):
    """Whether every run of a kernel of a distance leaves the unigram, and its seeds end
    together."""
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    figure, holds = [], []
    for c in table[1:]:
        if c.records:
            valid = [[e["ppl"] for e in r.of("valid")] for r in c.records.values()]
            second, best, last = (
                [v[1] for v in valid],
                [min(v) for v in valid],
                [v[-1] for v in valid],
            )
            figure.append(
                f"{c.row.label} {max(second):.1f} after two epochs at most, {min(best):.1f} to"
                f" {max(best):.1f} at its best, {max(last):.1f} at the end at most"
            )
            holds.append(max(second) < 150 and max(best) < 1.05 * min(best))
    return decided(
        part, table, bool(holds) and all(holds), "; ".join(figure) or "no run of a kernel yet"
    )


def r4(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    lin, by = table[0], {c.row.group: c for c in table}
    figure = ", ".join(
        f"{c.row.label} {math.exp(statistics.mean(c.against(lin))):.2f}"
        for c in table[1:]
        if c.against(lin)
    )
    inside = [statistics.interval(by[k].against(lin)) for k in ("rbf", "wav")]
    holds = all(b is not None and -math.log(1.1) < b[0] and b[1] < math.log(1.1) for b in inside)
    return decided(part, table, holds, "ratios to lin: " + (figure or tables.DASH))


def r4_mt(part, folder=None):
    """Whether each kernel is less than five BLEU below lin."""
    table = counted(part, folder)
    if not started(table):
        return "not run", tables.DASH
    bounds = [statistics.interval(c.minus(table[0])) for c in table[1:]]
    figure = ", ".join(f"{c.row.label} {c.average[0]:.1f}" for c in table if c.values)
    return decided(
        part,
        table,
        all(b is not None and b[0] > -5 for b in bounds),
        f"BLEU with a learned scale: {figure}",
    )


def r6(part, folder=None):
    """Whether each kernel is ahead of lin, after Holm."""
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    paired = {c.row.label: c.against(table[0]) for c in table[1:]}
    corrected = statistics.holm_paired(paired)
    holds = all(
        xs and corrected[label] is not None and corrected[label] < 0.05 and statistics.mean(xs) < 0
        for label, xs in paired.items()
    )
    figure = ", ".join(
        f"{label} {tables.ratio(xs)} (p {tables.p_value(corrected[label])})"
        for label, xs in paired.items()
        if xs
    )
    return decided(
        part, table, holds, f"ratios to lin: {figure}" if figure else "no comparison yet"
    )


def maps(part, folder=None):
    """Whether lin with a map is ahead of lin as mixtures are, and these without maps are not."""
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    by = {c.row.label: c for c in table}
    gain = by["lin, map"].against(by["lin"])
    bounds, figure = statistics.interval(gain), (
        [f"lin, map {tables.ratio(gain)} × lin"] if gain else []
    )
    holds = [bounds is not None and bounds[1] < -ALIKE]
    for label, other in (("mos, untied", "lin"), ("mix2", "lin"), ("mos, untied, map", "lin, map")):
        if paired := by[label].against(by[other]):
            ratio, alike = equivalence(paired)
            figure.append(f"{label} {ratio} × {other} (90%)")
            holds.append(alike)
    return decided(
        part, table, len(holds) == 4 and all(holds), "; ".join(figure) or "no comparison yet"
    )


def has_tiles(record):
    """Whether a run in `high` was computed so: by AMX, by what its machine was told in its place,
    or on a GPU."""
    config = record.of("config")[0]
    resolved = config.get("options", {}).get("resolved", {})
    return (
        resolved.get("instruction_set") == "amx"
        or "gpu" in resolved
        or "NINE_BF16_TILES" in config.get("machine", "")
    )


def precision(part, folder=None):
    """Whether each row's mean lies in the interval of the seeds of its set-up's first row, and no
    run of it was float32: that one's bits, or `high` without tiles."""
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    centre = lambda c: c.average if part.unit == "test BLEU" else (c.mean, c.interval)
    inside, same, figure = (
        [],
        [],
        "; ".join(f"{c.row.label} {tables.with_interval(*centre(c))}" for c in table if c.values),
    )
    for c in table:
        first = next(other for other in table if other.row.setup == c.row.setup)
        if c.values and c is not first:
            bounds = centre(first)[1]
            inside.append(bounds is not None and bounds[0] <= centre(c)[0] <= bounds[1])
            float32 = "precision high " in f"{c.row.options} " and not all(
                map(has_tiles, c.records.values())
            )
            same += [c.row.label] * bool(float32 or c.values.items() & first.values.items())
    if same:
        return "undecided", f"{figure}; {', '.join(same)} was trained in float32"
    return decided(part, table, bool(inside) and all(inside), figure)


def precision_kernels(part, folder=None):
    """Whether each kernel in `medium` is equivalent to itself in `highest`."""
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    by, figure, holds = {c.row.label: c for c in table}, [], []
    for kernel in dict.fromkeys(c.row.group for c in table):
        paired = by[f"{kernel}, medium"].against(by[f"{kernel}, highest"])
        if paired:
            ratio, alike = equivalence(paired)
            figure.append(f"{kernel} {ratio}")
            holds.append(alike)
    return decided(
        part,
        table,
        bool(holds) and all(holds),
        "medium over highest: " * bool(figure) + equivalences(figure),
    )
