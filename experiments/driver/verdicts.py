"""What the rules of docs/results/rules.md say of the records of trained models: each function gives
(reproduced | not reproduced | undecided | not run, the figure) by way of `measured.rule`."""
import math

from . import claims, parts, search, statistics, tables, tuned
from .measured import ALIKE, complete, every, rule
from .measures import inner_products


def counted(part, folder=None):
    """{label: cells} of the rows that count in a verdict."""
    cells = tables.by_label(part, folder)
    return {label: c for label, c in cells.items() if c.row.group not in parts.BESIDE}


def alike(c, other, before, after=""):
    """[(the ratio with its 90% interval, whether that lies within ±2.5%)] of two rows: the rule of
    several parts; nothing where they have no seed in common."""
    paired = c.against(other)
    told = f"{before} {tables.ratio(paired, 0.90)}{after}" if paired else ""
    return [(told, bool(statistics.equivalent(paired, ALIKE)))] * bool(paired)


LEVEL = " (intervals of 90%)"


def ordered(*levels):
    """T1's rule: every interval of a level lies below those of the next."""
    levels = [level.split() for level in levels]

    @rule(counted)
    def verdict(by, part, folder):
        by = {c.row.group: c for c in by.values()}
        kernels = [k for level in levels for k in level if by[k].values]
        figure = ", ".join(f"{k} {by[k].mean:.1f}{apart(by[k])}" for k in kernels)
        searching = [k for k in search.unfinished(folder) if k in parts.CHOICES[part.name]]
        if searching:
            return f"{figure}; the search is not done for {', '.join(searching)}", False, True
        pairs = [(a, b) for low, high in zip(levels, levels[1:]) for a in low for b in high]
        holds = complete(part, by.values()) and all(
            by[a].interval[1] < by[b].interval[0] for a, b in pairs
        )
        return figure, holds

    return verdict


def apart(c, limit=1.25):
    """Where seeds are of more than one kind, from where to where."""
    low, high = min(c.values.values()), max(c.values.values())
    return f" ({low:.1f} to {high:.1f})" if high > limit * low else ""


t1 = ordered("lin pow pol mog", "ssg", "log hpb", "rbf wav")
t1_l = ordered("lin pow", "ssg", "log hpb", "rbf")


def t2_readings(values):
    """{(penalty, statistic): (log likelihood of the paper's four figures, the ρ whose figure lies
    outside of a new run's 95% interval)}, or None where a deviation is missing."""
    found = {}
    for kind in ("variance", "cv2"):
        for place, name in ((1, "100 E Var"), (2, "CV²")):
            total, outside = 0.0, []
            for rho, (paper, _) in parts.T2_PAPER.items():
                xs = [v[place] for v in values[f"{kind}:{rho:g}"].values()]
                s = statistics.deviation(xs) * math.sqrt(1 + 1 / len(xs)) if len(xs) > 1 else 0
                if s == 0:
                    return None
                mean, t = statistics.mean(xs), statistics.student_quantile(0.05, len(xs) - 1)
                total += statistics.log_normal_density(paper, mean, s)
                outside += [rho] * (abs(paper - mean) > t * s)
            found[kind, name] = total, outside
    return found


@rule()
def t2(by, part, folder):
    values = tables.t2_values(part, folder)
    of = lambda label: [v[1] for v in values[label].values()]
    means = lambda kind: " ".join(
        f"{statistics.mean(xs):.2f}" if (xs := of(f"{kind}:{rho:g}")) else "?"
        for rho in parts.T2_PAPER
    )
    readings = "; ".join(f"{kind}: {means(kind)}" for kind in ("variance", "cv2"))
    figure = f"100 E Var_k(π) at ρ = .001 .01 .1 1, {readings}; the paper 4.74 4.98 3.67 3.81"
    found = t2_readings(values)
    if not found:
        return figure, False, True
    first, second = sorted(found, key=lambda reading: found[reading][0], reverse=True)[:2]
    ratio, outside = found[first][0] - found[second][0], found[first][1]
    figure += f"; the likeliest reading, {first[0]} with {first[1]}, is e^{ratio:.1f} times as"
    figure += " likely as the second"
    if ratio < math.log(20):
        return figure, False, True
    if outside:
        places = ", ".join(f"{rho:g}" for rho in outside)
        figure += f"; its intervals contain the paper's figures, but not at ρ = {places}"
    return figure, not outside


def rising(by, kind, labels, seeds):
    """[(figure, holds)]: Page's test over conditions in order, seeds as blocks."""
    blocks = [
        [by[label].values[s] for label in labels]
        for s in range(1, seeds + 1)
        if all(s in by[label].values for label in labels)
    ]
    if not blocks:
        return []
    found, p = statistics.page(blocks)
    return [(f"{kind}: Page's L = {found:g}, p {tables.p_value(p)}", p < 0.01)]


@rule(beside=("base",))
def m1(by, part, folder):
    base, found = by["base"], []
    for label, name, digits, least in (("lsm:2", "lsm:2", 2, 3), ("m=0", "m = 0", 3, 1.1)):
        if paired := by[label].against(base):
            ratio, paper = math.exp(statistics.mean(paired)), by[label].row.paper / base.row.paper
            told = f"{name} {ratio:.{digits}f} × base (paper {paper:.{digits}f})"
            found.append((told, ratio >= least))
    for kind in ("arc", "cos"):
        labels = ["m=0", *(f"{kind}:{m:g}" for m in parts.MARGINS[1:])]
        found += rising(by, kind, labels, part.seeds)
    return every(found)


@rule(beside=("none, contexts none",))
def m2(by, part, folder):
    run = [c for c in by.values() if c.values]
    tau = statistics.kendall([c.mean for c in run], [c.row.paper for c in run])
    paired = by["none, contexts max"].against(by["none, contexts none"])
    gain = statistics.interval(paired)
    figure = f"τ-b = {tau:.2f} over {len(run)} rows"
    if gain:
        figure += f"; max without a word norm {tables.ratio(paired)} × base"
    return figure, tau >= 0.6 and gain is not None and gain[1] < 0


def best_rates(table):
    """{group: its row with the least mean validation perplexity}, of groups that have all rows of
    as many seeds."""
    found = {}
    for c in table:
        found.setdefault(c.row.group, []).append(c)
    valid = lambda c: statistics.mean([math.log(r.valid_ppl()) for r in c.records.values()])
    return {
        group: min(own, key=valid) for group, own in found.items() if all(c.values for c in own)
    }


@rule(beside=lambda label: label.endswith("lr=0.002"))
def rates(by, part, folder):
    """Whether normed contexts are as good as others when each has its own rate."""
    best, found = best_rates(by.values()), []
    for group in ("m=0", "max"):
        if group in best and "base" in best:
            mine, base = best[group], best["base"]
            found += alike(mine, base, mine.row.label, f" × {base.row.label}")
    return every(found, LEVEL)


@rule(beside=("base",))
def m3(by, part, folder):
    found = above_base(by)
    for kind in ("arc", "cos"):
        labels = [f"{kind}:{m:g}" for m in parts.M3_MARGINS]
        found += rising(by, kind, labels, part.seeds)
    return every(found)


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


@rule(counted)
def t3(by, part, folder):
    found = []
    for c in by.values():
        if c.row.group == "mixture" and not c.row.label.endswith("untied"):
            if (share := share_of_lin(c)) is not None:
                told = f" × lin, {100 * share:.0f}% of π on inner products"
                pairs = alike(c, by["lin"], c.row.label, told)
                found += [(figure, holds and share > 0.5) for figure, holds in pairs]
    return every(found, LEVEL)


@rule()
def t3b(by, part, folder):
    lin, *others = by.values()
    paired = {c.row.label: xs for c in others if (xs := c.against(lin))}
    if not paired:
        return "no comparison yet", False
    label = min(paired, key=lambda k: statistics.mean(paired[k]))
    bounds = statistics.interval(paired[label])
    figure = f"the best, {label}, {math.exp(statistics.mean(paired[label])):.3f} × lin"
    above = bounds is not None and bounds[0] > ALIKE
    return figure, above, not above and bounds is not None and ALIKE <= bounds[1]


def above_base(by):
    """[(figure, holds)] of arc and cos at .001: 0 to 5% above base."""
    found = []
    for label in ("arc:0.001", "cos:0.001"):
        if paired := by[label].against(by["base"]):
            low, high = statistics.interval(paired) or (0, 0)
            told = f"{label} {tables.ratio(paired)} × base"
            found.append((told, low > 0 and high < math.log(1.05)))
    return found


@rule()
def m_l(by, part, folder):
    found = []
    if paired := by["max"].against(by["base"]):
        bounds = statistics.interval(paired)
        told = f"max {math.exp(statistics.mean(paired)):.3f} × base"
        found.append((told, bool(bounds) and bounds[1] < 0))
    return every(found + above_base(by))


@rule()
def mos(by, part, folder):
    """The interaction of head and regularisation in log perplexity."""
    lin, lin_with, mos, mos_with = (c.logs for c in by.values())
    seeds = sorted(lin.keys() & lin_with.keys() & mos.keys() & mos_with.keys())
    found = [mos_with[s] - lin_with[s] - mos[s] + lin[s] for s in seeds]
    if not found:
        return every([])
    bounds = statistics.interval(found)
    told = "log perplexity of mos minus lin's, with regularisation minus without:"
    told += f" {statistics.mean(found):+.4f}"
    told += f" [{bounds[0]:.4f}, {bounds[1]:.4f}]" if bounds else ""
    return told, bounds is not None and bounds[1] < 0


def closed(c):
    """The part of the way from word frequencies to the language itself, in nats, that a row closes;
    None without its records."""
    config = next((r.of("config")[0] for r in c.records.values()), {})
    if "unigram" not in config:
        return None
    return math.log(config["unigram"] / c.mean) / math.log(config["unigram"] / config["floor"])


def beside_full(table):
    """SS: (the full softmax, the sampled ones) of the generated language and of captions."""
    return (table[0], table[1:4]), (table[4], table[5:])


@rule()
def ss(by, part, folder):
    table = list(by.values())
    learnt, means, figure = closed(table[0]), [], []
    if learnt is not None:
        figure.append(
            f"the full softmax gains {100 * learnt:.0f}% of the nats between word frequencies and"
            " the language's entropy"
        )
    for full, sampled in beside_full(table):
        for c in sampled:
            if paired := c.against(full):
                figure.append(f"{c.row.label} {tables.ratio(paired)} × full")
                means += [statistics.mean(paired)] if full is table[0] else []
    last = statistics.interval(table[3].against(table[0]))
    falling = len(means) == 3 and means == sorted(means, reverse=True)
    if len(means) == 3 and not falling:
        figure.append("perplexity does not fall with every step from 512 to 8,192 samples")
    holds = falling and last is not None and last[1] < math.log(1.03)
    return "; ".join(figure) or every([])[0], holds, learnt is None or learnt < 0.5


@rule(beside=lambda label: not label.startswith("value"))
def slopes(by, part, folder):
    """Whether a model ends near the kernel whose value it has."""
    found = []
    for label, c in by.items():
        if label.startswith("value"):
            value, slope = (by[label.split()[i].rstrip(",")] for i in (2, -1))
            if c.values and value.values and slope.values:
                ends = ", ".join(f"{k.row.label} {k.mean:.1f}" for k in (value, slope))
                far = lambda other: abs(math.log(c.mean / other.mean))
                found.append((f"{label} {c.mean:.1f} ({ends})", far(value) < far(slope)))
    return every(found)


@rule()
def warmed(by, part, folder):
    """Whether every run of a kernel of a distance leaves the unigram, and its seeds end
    together."""
    found = []
    for c in list(by.values())[1:]:
        if c.records:
            valid = [[e["ppl"] for e in r.of("valid")] for r in c.records.values()]
            second, best, last = (
                list(map(f, valid)) for f in (lambda v: v[1], min, lambda v: v[-1])
            )
            told = (
                f"{c.row.label}: worst seed after two epochs {max(second):.1f}, each seed's best"
                f" {min(best):.1f} to {max(best):.1f}, worst seed at the end {max(last):.1f}"
            )
            found.append((told, max(second) < 150 and max(best) < 1.05 * min(best)))
    return every(found)


@rule()
def r4(by, part, folder):
    lin, *others = by.values()
    paired = {c.row.label: c.against(lin) for c in others}
    ratios = [f"{k} {math.exp(statistics.mean(xs)):.2f}" for k, xs in paired.items() if xs]
    inside = [statistics.equivalent(paired[k], math.log(1.1), 0.95) for k in ("rbf", "wav")]
    return "ratios to lin: " + (", ".join(ratios) or tables.DASH), all(inside)


@rule(counted)
def r4_mt(by, part, folder):
    """Whether each kernel is less than five BLEU below lin."""
    lin, *others = by.values()
    bounds = [statistics.interval(c.minus(lin)) for c in others]
    figure = ", ".join(f"{c.row.label} {c.average[0]:.1f}" for c in by.values() if c.values)
    return f"BLEU with a learned scale: {figure}", all(b and b[0] > -5 for b in bounds)


@rule()
def r6(by, part, folder):
    """Whether each kernel is ahead of lin, after Holm."""
    lin, *others = by.values()
    paired = {c.row.label: c.against(lin) for c in others}
    corrected, found = statistics.holm_paired(paired), []
    for label, xs in paired.items():
        if xs:
            p = corrected[label]
            ahead = p is not None and p < 0.05 and statistics.mean(xs) < 0
            found.append((f"{label} {tables.ratio(xs)} (p {tables.p_value(p)})", ahead))
    figure = "ratios to lin: " + ", ".join(told for told, _ in found)
    return (figure, every(found)[1]) if found else every([])


@rule()
def maps(by, part, folder):
    """Whether lin with a map is ahead of lin as mixtures are, and these without maps are not."""
    found = []
    if gain := by["lin, map"].against(by["lin"]):
        bounds = statistics.interval(gain)
        told = f"lin, map {tables.ratio(gain)} × lin"
        found.append((told, bounds is not None and bounds[1] < -ALIKE))
    for label, other in (("mos, untied", "lin"), ("mix2", "lin"), ("mos, untied, map", "lin, map")):
        found += alike(by[label], by[other], label, f" × {other} (90%)")
    return every(found)


# ---- S-random, S-random-mix, Map-rates and Curve: intervals over the seeds and the images ----
# as far from lin as the kernel paper's Table 1 has kernels "on the same level"
LEVEL_OF_PAPER = math.log(parts.T1_PAPER["ssg"] / parts.T1_PAPER["lin"])
# where each claim wants the log ratio to lin
CLAIMED = {
    "pol": (-LEVEL_OF_PAPER, LEVEL_OF_PAPER),
    "log": (LEVEL_OF_PAPER, math.inf),
    "max": (-math.inf, 0),
}
GAINS = (-math.inf, -ALIKE)  # more than 2.5%


def told(found, other):
    return f"{claims.ratio(statistics.mean(found.by_seed), found.wide)} × {other}"


def beside_bases(by, part, folder, rows):
    """{label: [(what is told, the wide interval)]} of rows {label: {baseline: the row that stands
    beside it}}, of those that have been run."""
    measured, found = claims.units(part, folder), {}
    for label, beside in rows.items():
        pairs = {k: claims.perplexities(by[row], by[k], measured) for k, row in beside.items()}
        if all(x.by_seed for x in pairs.values()):
            named = lambda row: f"{row} " * (row != label)
            found[label] = [(f"{named(beside[k])}{told(x, k)}", x.wide) for k, x in pairs.items()]
    return found


def unknown(found, rows):
    """Whether one of the intervals that a rule asks for is not known."""
    return len(found) < len(rows) or any(wide is None for x in found.values() for _, wide in x)


def of_rows(found, bounds):
    """{label: the verdict that is common to a row's baselines}; `bounds`: {label: low and high}."""
    common = lambda x, within: claims.common([claims.judged(wide, *within) for _, wide in x])
    return {
        label: common(found[label], within) for label, within in bounds.items() if label in found
    }


def of_all(words):
    return claims.common(list(words) or [claims.NOT_SHOWN])


@rule()
def random_lines(by, part, folder):
    """Each claim beside lin and beside lin with dropout."""
    bounds = {**CLAIMED, "lin, map": GAINS}
    rows = {label: dict.fromkeys(tuned.BASES, label) for label in bounds}
    found = beside_bases(by, part, folder, rows)
    words = of_rows(found, bounds)
    ratios = lambda label: ", ".join(ratio for ratio, _ in found[label])
    figure = "; ".join(f"{label} {ratios(label)}: {word}" for label, word in words.items())
    paper = of_all(word for label, word in words.items() if label in CLAIMED)
    return figure or every([])[0], paper, unknown(found, rows)


def random_pairs(part):
    return [(c.label, base) for base in tuned.BASES for c in part.rows if c.label != base]


# where the kernel paper has mixtures, in log perplexity beside lin
MIXTURES_CLAIMED = {
    '"cannot significantly improve"': ((-ALIKE, math.inf), tuple(tuned.MIXED)),
    "at lin's level": ((-ALIKE, ALIKE), tuple(tuned.MIXED)),
    "mos behind lin": ((0, math.inf), ("mos",)),
}


def claimed(rows, asked, more=lambda by: None):
    """The rule of several claims, {claim: (bounds, the rows that it is about)}, each judged beside
    all of a row's baselines (beside_bases); `more(by)` gives the figure and the verdict of another
    claim."""

    @rule()
    def verdict(by, part, folder):
        found, judged = beside_bases(by, part, folder, rows), []
        figures = [f"{k} {', '.join(ratio for ratio, _ in pairs)}" for k, pairs in found.items()]
        for claim, (bounds, labels) in asked.items():
            words = of_rows(found, dict.fromkeys(labels, bounds))
            judged.append(of_all(words.values()))
            each = ", ".join(f"{label} {word}" for label, word in words.items())
            figures.append(f"{claim}: {judged[-1]} ({each})")
        if another := more(by):
            figures.append(another[0])
            judged.append(another[1])
        figure = "; ".join(figures) if found else every([])[0]
        return figure, of_all(judged), unknown(found, rows)

    return verdict


# a mixture beside lin, and with dropout beside lin with dropout
random_mixtures = claimed(
    {k: dict(zip(tuned.BASES, (k, label))) for k, label in tuned.WITH_DROPOUT.items()},
    MIXTURES_CLAIMED,
)


@rule()
def map_rates(by, part, folder):
    """The layer's gain with both rows at their best rates, and at equal ones."""
    measured, best = claims.units(part, folder), best_rates(by.values())
    pairs = [(best["lin, map"], best["lin"])] if len(best) == 2 else []
    pairs += [(by[a], by[b]) for a, b in map_pairs(part)]
    found = [(a, b, claims.perplexities(a, b, measured)) for a, b in pairs]
    shown = [x for x in found if x[2].by_seed]
    figure = "; ".join(
        f"{a.row.label} {told(x, b.row.label)}: {claims.judged(x.wide, *GAINS)}"
        for a, b, x in shown
    )
    if len(best) < 2 or not shown:
        return figure or every([])[0], claims.NOT_SHOWN, True
    first = shown[0][2]
    return f"best rates: {figure}", claims.judged(first.wide, *GAINS), first.wide is None


def map_pairs(part):
    return [(f"lin, map, lr={rate:g}", f"lin, lr={rate:g}") for rate in tuned.MAP_RATES]


def over_texts(by, part, folder=None):
    """{row: {lines: the Difference to lin's on that text}} of Curve, of what has been run."""
    measured, found = claims.units(part, folder), {}
    for label in list(tuned.CURVE_LADDERS)[1:]:
        for lines in tuned.CURVE_TUNINGS:
            a, b = (by[tuned.curve_row(k, lines)] for k in (label, "lin"))
            if (x := claims.perplexities(a, b, measured)).by_seed:
                found.setdefault(label, {})[lines] = x
    return found


def crossing(on):
    """Between which texts a row goes from ahead of lin to behind it, or None; {lines: Difference}."""
    bounds = [(lines, x.wide) for lines, x in on.items() if x.wide]
    ahead = [lines for lines, (_, high) in bounds if high < 0]
    behind = [lines for lines, (low, _) in bounds if low > 0 and ahead and lines > ahead[0]]
    return (max(n for n in ahead if n < behind[0]), behind[0]) if behind else None


@rule()
def curve(by, part, folder):
    """The kernel paper's claims on the largest text, and where rows cross lin."""
    found, figures = over_texts(by, part, folder), []
    last = max(tuned.CURVE_TUNINGS)
    for label, on in found.items():
        ratios = ", ".join(f"{told(x, 'lin')} on {lines:,}" for lines, x in on.items())
        between = crossing(on)
        missing = "" if last in on and on[last].wide else " so far"
        none = f"no crossing{missing}"
        where = f"crosses between {between[0]:,} and {between[1]:,}" if between else none
        figures.append(f"{label} {ratios}: {where}")
    words, lacking = [], False
    for label in ("pol", "log"):
        if last in found.get(label, {}):
            wide = found[label][last].wide
            lacking |= wide is None
            words.append(claims.judged(wide, *CLAIMED[label]))
            figures.append(f"{label} on {last:,}: {words[-1]}")
    figure = "; ".join(figures) or every([])[0]
    return figure, claims.common(words or [claims.NOT_SHOWN]), lacking or len(words) < 2


def curve_pairs(part):
    return [
        (tuned.curve_row(k, lines), tuned.curve_row("lin", lines))
        for lines in tuned.CURVE_TUNINGS
        for k in list(tuned.CURVE_LADDERS)[1:]
    ]


# ---- spoken English ----
def pairs_of(rows):
    """[(row, baseline)] of a rule's rows, for the table of intervals."""
    return [(row, base) for beside in rows.values() for base, row in beside.items()]


GOOD, MIDDLE, LAST = ("pow", "pol", "ssg", "mog"), ("log", "hpb"), ("rbf", "wav")
T1_SWB_ROWS = {k: dict.fromkeys(tuned.BASES, k) for k in (*GOOD, *MIDDLE)}
T1_SWB_ROWS |= {k: dict.fromkeys(MIDDLE, k) for k in LAST}
t1_swb = claimed(
    T1_SWB_ROWS,
    {
        '"on the same level"': (CLAIMED["pol"], GOOD),
        "log and hpb behind": (CLAIMED["log"], MIDDLE),
        "rbf and wav last": ((0, math.inf), LAST),
    },
)

SMALL = ("arc:0.001", "cos:0.001")
M_SWB_ROWS = {"max": dict.fromkeys(tuned.BASES, "max")}
M_SWB_ROWS |= {k: dict.fromkeys(("lin", "max"), k) for k in SMALL}
m_swb = claimed(
    M_SWB_ROWS,
    {
        "largest-norm contexts alone help": (CLAIMED["max"], ("max",)),
        "a margin of .001 costs little": ((0, math.log(1.05)), SMALL),
    },
)


def most_of_prior(by):
    """Whether lin has more than half of mix2's prior, in every seed."""
    c = by["mix2"]
    shares = [share_over_training(c.row.options, r, "valid")[-1][1] for r in c.records.values()]
    if not shares:
        return None
    word = claims.NOT_SHOWN
    for judged, holds in (
        (claims.AGREES, min(shares) > 0.5),
        (claims.DISAGREES, max(shares) < 0.5),
    ):
        word = judged if holds else word
    of = f"{100 * min(shares):.0f} to {100 * max(shares):.0f}% of mix2's"
    return f"lin has most of the prior: {word} ({of}, over the seeds)", word


T3_SWB_ROWS = {k: dict.fromkeys(("lin", "lin, map"), k) for k in ("mix2", "mos")}
t3_swb = claimed(
    T3_SWB_ROWS,
    {
        claim: (bounds, [k for k in labels if k in T3_SWB_ROWS])
        for claim, (bounds, labels) in MIXTURES_CLAIMED.items()
    },
    most_of_prior,
)

SC_CLAIMED = {k: CLAIMED[k] for k in ("pol", "log")}
SC_BOUNDS = {**SC_CLAIMED, "lin, map": GAINS}


@rule()
def t1_sc(by, part, folder):
    """Each row beside lin. One seed has a direction alone, by the interval over the hearings."""
    measured, words, figures, lacking = claims.units(part, folder), [], [], False
    for label, bounds in SC_BOUNDS.items():
        x = claims.perplexities(by[label], by["lin"], measured)
        one = len(x.by_seed) == 1
        interval = x.over_text if one else x.wide
        lacking |= interval is None
        if x.by_seed:
            word = claims.judged(interval, *bounds)
            ratio = claims.ratio(statistics.mean(x.by_seed), interval)
            figures.append(f"{label} {ratio} × lin: {'its direction ' * one}{word}")
            words += [claims.NOT_SHOWN if one else word] * (label in SC_CLAIMED)
    return "; ".join(figures) or every([])[0], of_all(words), lacking


SC_ROWS = {k: {"lin": k} for k in SC_BOUNDS}


def has_tiles(record):
    """Whether a run in `high` was computed so: by AMX, by what its machine was told in its place,
    or on a GPU."""
    config = record.of("config")[0]
    resolved = config.get("options", {}).get("resolved", {})
    tiles = "NINE_BF16_TILES" in config.get("machine", "")
    return tiles or resolved.get("instruction_set") == "amx" or "gpu" in resolved


@rule()
def precision(by, part, folder):
    """Whether each row's mean lies in the interval of the seeds of its set-up's first row, and no
    run of it was float32: that one's bits, or `high` without tiles."""
    centre = lambda c: c.average if part.unit == "test BLEU" else (c.mean, c.interval)
    inside, same, first = [], [], {}
    run = [c for c in by.values() if c.values]
    figure = "; ".join(f"{c.row.label} {tables.with_interval(*centre(c))}" for c in run)
    for c in by.values():
        reference = first.setdefault(c.row.setup, c)
        if c.values and c is not reference:
            bounds = centre(reference)[1]
            inside.append(bounds is not None and bounds[0] <= centre(c)[0] <= bounds[1])
            float32 = "precision high " in f"{c.row.options} " and not all(
                map(has_tiles, c.records.values())
            )
            same += [c.row.label] * bool(float32 or c.values.items() & reference.values.items())
    if same:
        return f"{figure}; {', '.join(same)} was trained in float32", False, True
    return figure, bool(inside) and all(inside)


@rule()
def precision_kernels(by, part, folder):
    """Whether each kernel in `medium` is equivalent to itself in `highest`."""
    found = []
    for kernel in dict.fromkeys(c.row.group for c in by.values()):
        found += alike(by[f"{kernel}, medium"], by[f"{kernel}, highest"], kernel)
    figure, holds = every(found, LEVEL)
    return "medium over highest: " * bool(found) + figure, holds
