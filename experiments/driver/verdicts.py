"""What the rules of docs/results/rules.md say of the records: (reproduced | not reproduced | undecided | not run, the figure)."""
import math

from . import parts, projection, search, statistics, tables


def started(table):
    return any(c.values for c in table)


def complete(part, table):
    return all(len(c.values) == part.seeds for c in table)


def lacking(part, table):
    return f"{sum(len(c.values) for c in table)} of {part.seeds * len(table)} runs"


def decided(part, table, holds, figure):
    """A rule's outcome counts when every seed of every row is there."""
    if not complete(part, table):
        return "undecided", f"{figure}; {lacking(part, table)}"
    return ("reproduced" if holds else "not reproduced"), figure


def t1(part, folder=None):
    table = [c for c in tables.cells(part, folder) if c.row.group != "lin in disguise"]
    if not started(table):
        return "not run", tables.DASH
    levels = [("lin", "pow", "pol", "mog"), ("ssg",), ("log", "hpb"), ("rbf", "wav")]
    by = {c.row.group: c for c in table}
    figure = ", ".join(f"{k} {by[k].mean:.1f}" for level in levels for k in level if by[k].values)
    searching = search.unfinished(folder)
    if searching:
        return "undecided", f"{figure}; {lacking(part, table)}, the search is not done for {', '.join(searching)}"
    holds = complete(part, table) and all(by[a].interval[1] < by[b].interval[0] for low, high in zip(levels, levels[1:]) for a in low for b in high)
    return decided(part, table, holds, figure)


def t2_likelihoods(part, folder=None):
    """{(penalty, statistic): log likelihood of the paper's four figures}, or None where a deviation is missing."""
    values = tables.t2_values(part, folder)
    found = {}
    for kind in ("variance", "cv2"):
        for place, name in ((1, "100 E Var"), (2, "CV²")):
            total = 0.0
            for rho, (paper, _) in parts.T2_PAPER.items():
                xs = [v[place] for v in values[f"{kind}:{rho:g}"].values()]
                s = statistics.deviation(xs) * math.sqrt(1 + 1 / len(xs)) if len(xs) > 1 else 0
                if s == 0:
                    return None
                total += statistics.log_normal_density(paper, statistics.mean(xs), s)
            found[kind, name] = total
    return found


def t2(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    values = tables.t2_values(part, folder)
    readings = "; ".join(f"{kind}: " + " ".join(f"{statistics.mean([v[1] for v in values[f'{kind}:{r:g}'].values()]):.2f}" if values[f"{kind}:{r:g}"] else "?"
                                               for r in parts.T2_PAPER) for kind in ("variance", "cv2"))
    figure = f"100 E Var_k(π) at ρ = .001 .01 .1 1, {readings}; the paper 4.74 4.98 3.67 3.81"
    likelihoods = t2_likelihoods(part, folder)
    if not likelihoods or not complete(part, table):
        return "undecided", f"{figure}; {lacking(part, table)}"
    first, second = sorted(likelihoods, key=likelihoods.get, reverse=True)[:2]
    ratio = likelihoods[first] - likelihoods[second]
    figure += f"; likeliest {first[0]} with {first[1]}, e^{ratio:.1f} times the next"
    return ("reproduced" if ratio >= math.log(20) else "undecided"), figure


def rising(by, labels, seeds):
    """Page's L and p over conditions in order, seeds as blocks."""
    blocks = [[by[label].values[s] for label in labels] for s in range(1, seeds + 1) if all(s in by[label].values for label in labels)]
    return statistics.page(blocks) if blocks else None


def m1(part, folder=None):
    table = tables.cells(part, folder)
    by = {c.row.label: c for c in table}
    if not any(c.values for c in table if c.row.label != "base"):
        return "not run", tables.DASH
    base, figure, holds = by["base"], [], []
    if base.values and by["lsm:2"].values:
        ratio = by["lsm:2"].mean / base.mean
        figure.append(f"lsm:2 {ratio:.2f} × base (paper {390.3 / 53.7:.2f})")
        holds.append(ratio >= 3)
    if base.values and by["m=0"].values:
        ratio = by["m=0"].mean / base.mean
        figure.append(f"m = 0 {ratio:.3f} × base (paper {66.9 / 53.7:.3f})")
        holds.append(ratio >= 1.1)
    for kind in ("arc", "cos"):
        page = rising(by, ["m=0"] + [f"{kind}:{m:g}" for m in parts.MARGINS[1:]], part.seeds)
        if page:
            figure.append(f"{kind}: Page's L = {page[0]:g}, p {tables.p_value(page[1])}")
            holds.append(page[1] < 0.01)
    return decided(part, table, len(holds) == 4 and all(holds), "; ".join(figure) or "no comparison yet")


def m2(part, folder=None):
    table = tables.cells(part, folder)
    if not any(c.values for c in table if c.row.label != "none, contexts none"):
        return "not run", tables.DASH
    run = [c for c in table if c.values]
    tau = statistics.kendall([c.mean for c in run], [c.row.paper for c in run])
    by = {c.row.label: c for c in table}
    gain = statistics.interval(by["none, contexts max"].against(by["none, contexts none"]))
    holds = tau >= 0.6 and gain is not None and gain[1] < 0
    return decided(part, table, holds, f"τ-b = {tau:.2f} over {len(run)} rows")


def m3(part, folder=None):
    table = tables.cells(part, folder)
    by = {c.row.label: c for c in table}
    if not any(c.values for c in table if c.row.label != "base"):
        return "not run", tables.DASH
    figure, holds = [], []
    for kind in ("arc", "cos"):
        paired = by[f"{kind}:0.001"].against(by["base"])
        bounds = statistics.interval(paired)
        if paired:
            figure.append(f"{kind}:0.001 {math.exp(statistics.mean(paired)):.3f} × base")
        holds.append(bounds is not None and bounds[0] > 0 and bounds[1] < math.log(1.05))
        page = rising(by, [f"{kind}:{m:g}" for m in (0.001, 0.003, 0.006, 0.01)], part.seeds)
        holds.append(page is not None and page[1] < 0.01)
    return decided(part, table, all(holds), "; ".join(figure) or "no comparison yet")


def inner_products(options):
    """Of each component of a mixture, whether it is lin."""
    kernels = []
    for component in options.split("--head mix:")[1].split()[0].split(","):
        count, _, kernel = component.rpartition("*")
        kernels += [kernel == "lin"] * int(count or 1)
    return kernels


def share_of_lin(c):
    """Mean over seeds of the prior's share on inner products at the last validation, or None."""
    shares = [share_over_training(c.row.options, r, "valid")[-1][1] for r in c.records.values()]
    return statistics.mean(shares) if shares else None


def share_over_training(options, record, kind="train"):
    """[(update, the prior's share on inner products)]"""
    lin = inner_products(options)
    return [(e["step"], sum(p for p, yes in zip(e["pi_mean"], lin) if yes)) for e in record.of(kind) if "pi_mean" in e]


def t3(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    lin, figure, holds = table[0], [], []
    for c in table:
        if c.row.group == "mixture" and not c.row.label.endswith("untied"):
            paired, share = c.against(lin), share_of_lin(c)
            if paired and share is not None:
                figure.append(f"{c.row.label} {math.exp(statistics.mean(paired)):.3f} × lin, {100 * share:.0f}% of π on lin")
                holds.append(bool(statistics.equivalent(paired, math.log(1.025))) and share > 0.5)
    return decided(part, table, bool(holds) and all(holds), "; ".join(figure) or "no comparison yet")


def t3b(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    paired = {c.row.label: c.against(table[0]) for c in table[1:] if c.against(table[0])}
    if not paired:
        return "undecided", lacking(part, table)
    label = min(paired, key=lambda k: statistics.mean(paired[k]))
    bounds, limit = statistics.interval(paired[label]), math.log(1.025)
    figure = f"the best, {label}, {math.exp(statistics.mean(paired[label])):.3f} × lin"
    if complete(part, table) and not bounds[0] > limit and not (-limit < bounds[0] and bounds[1] < limit):
        return "undecided", figure
    return decided(part, table, bounds is not None and bounds[0] > limit, figure)


RULES = {"T1": t1, "T2": t2, "M1": m1, "M2": m2, "M3": m3, "T3": t3, "T3b": t3b, "R1": lambda part: projection.verdict()}
