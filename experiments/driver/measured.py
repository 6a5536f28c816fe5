"""Verdicts and tables of the parts that measure trained models, from the records of what
measures.py measured of them; and what every verdict is made by, `rule`."""
import functools
import math

from . import measures, occurrences, parts, statistics, tables
from .claims import AGREES, IN_PART, NOT_SHOWN, RESAMPLES, Difference, common, judged
from .claims import percentiles, resampled
from .setups import SETUPS
from .tables import DASH, markdown, shown

ALIKE = math.log(1.025)  # within ±2.5%: the rule of several parts, of logarithms


def complete(part, table):
    return all(len(c.values) == (c.row.seeds or part.seeds) for c in table)


def lacking(part, table):
    there, wanted = (
        sum(c) for c in zip(*((len(c.values), c.row.seeds or part.seeds) for c in table))
    )
    return f"{there} of {wanted} runs"


def rule(cells=tables.by_label, beside=()):
    """Makes a verdict, (part, folder) -> (decision, figure), of a function of (cells by label, part,
    folder), which gives the figure, whether the rule holds, or one of four words (claims.py), and,
    where it may be neither, whether it is. It counts when every seed of every row is there. The rows `beside` do not begin a part.
    """
    apart = beside if callable(beside) else beside.__contains__

    def made(decide):
        def verdict(part, folder=None):
            by = cells(part, folder)
            if not any(c.values for label, c in by.items() if not apart(label)):
                return "not run", DASH
            figure, holds, *middle = decide(by, part, folder)
            word = holds if isinstance(holds, str) else ("not " * (not holds) + "reproduced")
            if not complete(part, by.values()):
                return "undecided", f"{figure}; {lacking(part, by.values())}"
            return "undecided" if any(middle) else word, figure

        return functools.wraps(decide)(verdict)

    return made


def every(found, after=""):
    """(figure, whether all hold) of [(figure, whether it holds)]."""
    figure = "; ".join(told for told, _ in found) + after if found else "no comparison yet"
    return figure, bool(found) and all(holds for _, holds in found)


def heading(part, cells):
    done = lacking(part, cells).replace("runs", "models")
    return (
        f"**{done} are measured.** Mean, with Student's 95% interval over seeds where there are two"
        f" or more. {part.note}".strip()
    )


def ratio(units, level):
    """100 Σa / Σb of units (a, b), and its percentile interval under a bootstrap over the units."""
    figure = 100 * sum(a for a, _ in units) / sum(b for _, b in units)
    low, high = percentiles(resampled(units), level)
    return figure, (100 * low, 100 * high)


def events_of(kind):
    """Cells by label of what is measured: of each record its first event of a kind."""
    return lambda part, folder=None: tables.measured(part, lambda r: r.of(kind)[0], folder)


# ---- MF ----
ANGLES = (
    "nearest angle, full space",
    "nearest angle, plane",
    "circular variance, plane",
    "largest gap, plane",
    "pronouns, full space",
)
angle_cells = events_of("angles")


def nearest(cells, label):
    return [v[ANGLES[0]] for v in cells[label].values.values()]


def angle_tests(cells):
    """{label: (difference of the nearest angle in the full space from base, Holm's p)}"""
    values, base = {label: nearest(cells, label) for label in cells}, nearest(cells, "base")
    others = [label for label in ("arc:0.001", "cos:0.001") if values[label] and base]
    corrected = statistics.holm([statistics.permutation_p(values[k], base) for k in others])
    difference = lambda label: statistics.mean(values[label]) - statistics.mean(base)
    return {label: (difference(label), p) for label, p in zip(others, corrected)}


@rule(angle_cells)
def mf(cells, part, folder):
    tests = angle_tests(cells)
    told = [f"{k} {angle:+.2f}° (p {tables.p_value(p)})" for k, (angle, p) in tests.items()]
    figure, norm, base = (
        ", ".join(told) or every([])[0],
        nearest(cells, "max"),
        nearest(cells, "base"),
    )
    if norm and base:
        further = statistics.mean(norm) - statistics.mean(base)
        figure += f"; the norm without a margin {further:+.2f}°"
    return figure, all(further > 0 and p < 0.05 for further, p in tests.values())


def mf_table(part, folder=None):
    cells = angle_cells(part, folder)
    tests, lines = angle_tests(cells), []
    for label, c in cells.items():
        angles = [[v[a] for v in c.values.values() if a in v] for a in ANGLES]
        told = [shown(xs) if xs or not c.values else DASH for xs in angles]
        further, p = tests.get(label, (None, None))
        beside = DASH if further is None else f"{further:+.2f}"
        lines.append([f"`{label}`", str(len(c.values)), *told, beside, tables.p_value(p)])
    header = f"model | seeds | {' | '.join(ANGLES)} | nearest angle − base's"
    table = markdown(f"{header} | exact permutation p, Holm", lines)
    return f"{heading(part, cells.values())}\n\n{table}"


# ---- R2 ----
# the margins that the rule asks for a share; below, a quotient by a loss that is next to nothing
RULED = ("cos:0.01", "cos:0.03")


def effects(cells, label):
    """(a margin's loss beside m = 0, what its correction gains), in nats, a list over seeds
    each."""
    none, margin = cells["m=0"].values, cells[label].values
    seeds = tables.common_seeds(none, margin)
    return (
        [math.log(margin[s]["plain"] / none[s]["plain"]) for s in seeds],
        [math.log(margin[s]["plain"] / margin[s]["corrected"]) for s in seeds],
    )


def taken_back(cells, label):
    """By seed, the share of a margin's loss beside m = 0 that the correction takes back."""
    return [gain / loss if loss else math.nan for loss, gain in zip(*effects(cells, label))]


def corrected_cells(part, folder=None, event="perplexity"):
    return events_of(event)(part, folder)


@rule(corrected_cells)
def r2(cells, part, folder):
    found = {label: taken_back(cells, label) for label in RULED}
    bounds = [statistics.interval(xs) for xs in found.values()]
    figure = ", ".join(f"{label} {shown(xs)}" for label, xs in found.items())
    return f"share taken back: {figure}", all(b is not None and b[0] > 0.5 for b in bounds)


def r2_table(part, folder=None):
    texts = {
        "perplexity": "Scored line by line, each from a fresh state; the rule goes by this table:",
        "running": "Scored as running text, as in training and in M1's table:",
    }
    cells = {event: corrected_cells(part, folder, event) for event in texts}
    blocks = [f"{text}\n\n{corrected_lines(cells[event])}" for event, text in texts.items()]
    return "\n\n".join([heading(part, cells["perplexity"].values()), *blocks])


def corrected_lines(cells):
    percent = lambda nats: shown([100 * x for x in nats])
    lines = []
    for label, c in cells.items():
        of = lambda kind: shown([v[kind] for v in c.values.values()])
        more = [DASH] * 4
        if label != "m=0":
            share = shown(taken_back(cells, label)) if label in RULED else DASH
            more = [of("corrected"), *map(percent, effects(cells, label)), share]
        lines.append([f"`{label}`", str(len(c.values)), of("plain"), *more])
    return markdown(
        "margin | seeds | test perplexity, plain | corrected | loss beside m = 0, nats / 100"
        " | the correction's gain, nats / 100 | share taken back, mean over seeds (of .01 and .03)",
        lines,
    )


# ---- R3 ----
def widths(part, folder=None):
    """{head: {width: (cells of log perplexity over the floor, cells of the rank)}}"""
    over = lambda r: r.valid_ppl() / r.last("start", "entropy_floor_ppl")
    ranks = tables.measured(part, lambda r: r.of("rank")[0]["rank"], folder)
    found = {}
    for row in part.rows:
        gap = tables.Cells(row, part.runs_of(row), over, folder)
        by_width = found.setdefault(row.group.replace(" --", ", "), {})
        by_width[int(row.label.split()[-1])] = gap, ranks[row.label]
    return found


def each_of(found, *which):
    pairs = [pair for by_width in found.values() for pair in by_width.values()]
    return [pair[i] for pair in pairs for i in which]


def bottleneck(middle=False):
    """`middle`: undecided, where nothing that the rule asks for is shown not to be."""

    @rule(lambda part, folder: dict(enumerate(each_of(widths(part, folder), 0, 1))))
    def verdict(_, part, folder):
        found = widths(part, folder)
        lin, untied = found["lin"], found["mos, untied"]
        paired = {width: untied[width][0].against(lin[width][0]) for width in lin}
        ranks = {width: list(lin[width][1].values.values()) for width in lin}
        level = lambda width: 0.90 if width == 128 else 0.95
        ratios = [
            f"{tables.ratio(xs, level(width))}{' (90%)' * (width == 128)} at {width}"
            for width, xs in paired.items()
            if xs
        ]
        most = [f"{max(xs)} at {width}" for width, xs in ranks.items() if xs]
        figure = f"mos untied over lin: {', '.join(ratios)}; lin's rank: {', '.join(most)}"
        narrow = [statistics.interval(paired[w]) for w in (8, 16)]
        wide = statistics.interval(paired[128], 0.90)
        algebra = all(r <= w + 2 for w in ranks for r in ranks[w])
        known = algebra and None not in (*narrow, wide)
        below = known and all(high < -ALIKE for _, high in narrow)
        holds = below and bool(statistics.equivalent(paired[128], ALIKE))
        may = known and all(low < -ALIKE for low, _ in narrow)
        open_yet = may and wide[0] < ALIKE and wide[1] > -ALIKE
        return figure, holds, middle and open_yet and not holds

    return verdict


r3, r3_warmup = bottleneck(), bottleneck(middle=True)


def r3_table(part, folder=None):
    found, lines = widths(part, folder), []
    paired = {
        (head, width): gap.against(found["lin"][width][0])
        for head, by_width in found.items()
        if head != "lin"
        for width, (gap, rank) in by_width.items()
    }
    corrected = statistics.holm_paired(paired)
    for head, by_width in found.items():
        for width, (gap, rank) in by_width.items():
            nats, xs = list(gap.logs.values()), paired.get((head, width))
            rate = gap.row.options.partition("--lr ")[2].split()[0]
            line = [f"`{head}`", str(width), rate, tables.whole(gap.parameters), str(len(nats))]
            line += [shown(nats, 4), tables.ratio(xs) if xs else DASH]
            p = tables.p_value(corrected.get((head, width)))
            lines.append([*line, p, shown(list(rank.values.values()), 1)])
    table = markdown(
        "head | width | learning rate | parameters | seeds"
        " | gap to the floor, nats a token of the validation text"
        " | perplexity over lin's of that width, paired by seed | p, Holm"
        " | rank of the log-probability matrix, of 256 positions",
        lines,
    )
    return f"{heading(part, each_of(found, 0))}\n\n{table}"


# ---- R5 ----
KINDS = ("frequency", "entropy", "part of speech")
share_cells = events_of("shares")


def widest(event):
    """Of the two classes of one kind that are furthest apart, the difference."""
    shares = [[mean for _, mean in event[kind].values()] for kind in KINDS]
    return max(max(of_kind) - min(of_kind) for of_kind in shares)


@rule(share_cells)
def r5(cells, part, folder):
    found = {label: list(map(widest, c.values.values())) for label, c in cells.items()}
    bounds = [statistics.interval(xs) for xs in found.values()]
    told = ", ".join(f"{label} {statistics.mean(xs):.2f}" for label, xs in found.items() if xs)
    holds = all(b is not None and b[1] < 0.1 for b in bounds)
    return f"largest difference between classes: {told}", holds


def r5_table(part, folder=None):
    cells = share_cells(part, folder)
    events = {label: list(c.values.values()) for label, c in cells.items() if c.values}
    lines, whole = [], []
    for kind in KINDS:
        for name in sorted({name for some in events.values() for v in some for name in v[kind]}):
            of = lambda some: shown([v[kind][name][1] for v in some if name in v[kind]], 3)
            lines.append([kind, name, *map(of, events.values())])
    for label, some in events.items():
        quarters = [[mean for _, (_, mean) in sorted(v["entropy"].items())] for v in some]
        everywhere = [
            math.fsum(n * mean for n, mean in by.values()) / sum(n for n, _ in by.values())
            for by in (v["entropy"] for v in some)
        ]
        first_to_last = shown([by[0] - by[-1] for by in quarters], 3)
        whole.append([f"`{label}`", first_to_last, shown(everywhere, 3)])
    last = "model | quarter 1 − quarter 4 of the entropy | over all positions"
    header = ["by", "class", *(f"`{label}`" for label in events)]
    tables_of = [markdown(header, lines), markdown(last, whole)]
    return "\n\n".join([heading(part, cells.values()), *tables_of])


# ---- T1-MT ----
def bleu_draws(ours, theirs):
    """Differences in BLEU of two systems, {seed: event}, on the resamples of the test text, averaged
    over the seeds that both have; none where they have none."""
    seeds = tables.common_seeds(ours, theirs)
    average = lambda system: [
        statistics.mean(each) for each in zip(*(system[s]["resamples"] for s in seeds))
    ]
    return [a - b for a, b in zip(average(ours), average(theirs))]


def bleu_difference(ours, theirs):
    """(difference in BLEU, its 95% interval) of two systems, averaged over the seeds that both have;
    None where they have none."""
    seeds = tables.common_seeds(ours, theirs)
    if not seeds:
        return None
    difference = statistics.mean([ours[s]["bleu"] - theirs[s]["bleu"] for s in seeds])
    return difference, percentiles(bleu_draws(ours, theirs), 0.95)


# in BLEU: how far from lin the paper's Table 1 has kernels "on the same level"
SAME_LEVEL = 2.6


def same_level(c, lin, bounds):
    return judged(bounds, -SAME_LEVEL, SAME_LEVEL)


def translates(c, lin, bounds):
    """Whether a kernel that the paper has at 0.4 BLEU or below does not translate."""
    if c.average[0] < 1:
        return AGREES
    found = judged(bounds, -math.inf, -lin.average[0] / 2)
    return IN_PART if found == AGREES else found


# claims of the kernel paper's Table 1 in BLEU
LEVEL, FAILS = '"on the same level"', "no translation"
BLEU_CLAIMS = {
    LEVEL: (same_level, ("pow", "pol", "ssg", "mog")),
    FAILS: (translates, tuple(parts.MT_UNTUNED)),
}


def beside_lin(by, translated, base):
    """{claim: [(figure, verdict)]} of cells of BLEU and of what is measured of the translations,
    beside the row `base`; one seed has a direction, by the interval over the sentences, and the
    verdict None."""

    def one(kernel, judge):
        c, systems = by[kernel], (translated[k].values for k in (kernel, base))
        found = Difference(c.minus(by[base]), bleu_draws(*systems))
        if not found.by_seed:
            return f"{kernel} not run", NOT_SHOWN
        bounds, alone = found.wide, len(found.by_seed) == 1
        if alone and found.drawn:
            bounds = percentiles(found.drawn, 0.95)
        word = judge(c, by[base], bounds)
        told = tables.with_interval(statistics.mean(found.by_seed), bounds, 1)
        return f"{kernel} {told} {'its direction ' * alone}{word}", None if alone else word

    return {
        claim: [one(k, judge) for k in kernels] for claim, (judge, kernels) in BLEU_CLAIMS.items()
    }


@rule()
def t1_mt(by, part, folder):
    groups = dict.fromkeys(("untuned", parts.MT_BASE.group, "tuned", "tuned, bias"), "")
    for c in by.values():
        if c.values:
            told = f"{c.row.label.partition(',')[0]} {c.average[0]:.1f}"
            groups[c.row.group] += f", {told}" if groups[c.row.group] else told
    untuned = [c for c in by.values() if c.row.group == "untuned"]
    figure = "; ".join(f"{group}: {told}" for group, told in groups.items())
    translated = events_of("translations")(part, folder)
    for claim, found in beside_lin(by, translated, parts.MT_BASE.label).items():
        words = [word or NOT_SHOWN for _, word in found]
        figure += f"; {claim}, beside the better lin: {common(words)}"
        figure += f" ({', '.join(told for told, _ in found)})"
    return figure, all(c.values and c.average[0] < 1 for c in untuned)


def t1_mt_table(part, folder=None):
    table, translated = tables.cells(part, folder), events_of("translations")(part, folder)
    lines = []
    for c in table:
        perplexity = tables.Cells(c.row, part.runs_of(c.row), lambda r: r.test_ppl, folder)
        by_sentences = by_seed = None
        if c is not table[0]:
            systems = (translated[k].values for k in (c.row.label, table[0].row.label))
            by_sentences, by_seed = bleu_difference(*systems), c.minus(table[0])
        lines.append(
            [
                *(f"`{c.row.options.split()[1]}`", c.row.group, *c.size(part)),
                *(shown(list(c.values.values()), 1), shown_ppl(perplexity)),
                DASH if c.row.paper is None else f"{c.row.paper:g}",
                tables.with_interval(*by_sentences, 1) if by_sentences else DASH,
                shown(by_seed, 1) if by_seed else DASH,
            ]
        )
    text = (
        f"{tables.head(part, table)} BLEU is greedy, of the tokenised text; the difference's"
        f" interval is a paired bootstrap over the test set's sentences, {RESAMPLES:,} resamples,"
        " for these models, or Student's over the seeds.\n\n"
    )
    return text + markdown(
        "head | row | parameters | target tokens | seeds | test BLEU | test perplexity"
        " | paper's BLEU | BLEU − the better lin's | the same by seed",
        lines,
    )


# ---- T1-MT-200k ----
def of_test(corpus):
    """What is measured on one of the test sets, of a record."""
    return lambda r: next(e for e in r.of("translations") if e["test"] == corpus)


def on_tests(part, folder=None):
    """{test set: (cells of BLEU, cells of the events) by label}"""
    found = {}
    for corpus in SETUPS[part.setup].text.split("+"):
        event = of_test(corpus)
        bleu = lambda r: event(r)["bleu"]
        found[corpus] = tuple(tables.measured(part, f, folder) for f in (bleu, event))
    return found


@rule(lambda part, folder=None: next(iter(on_tests(part, folder).values()))[0])
def t1_mt_200k(by, part, folder):
    """Table 1's claims on both test sets, beside lin; kernels of one seed have a direction alone."""
    words, figures = {}, []
    for corpus, (cells, events) in on_tests(part, folder).items():
        each = ", ".join(f"{k} {c.average[0]:.1f}" for k, c in cells.items() if c.values)
        figures.append(f"{corpus}: {each}")
        for claim, found in beside_lin(cells, events, "lin").items():
            own = [word for _, word in found if word]
            words.setdefault(claim, []).extend(own)
            told = ", ".join(ratio for ratio, _ in found)
            figures.append(f"{claim}, {corpus}: {common(own or [NOT_SHOWN])} ({told})")
    return "; ".join(figures), common([common(w or [NOT_SHOWN]) for w in words.values()])


def t1_mt_200k_table(part, folder=None):
    runs, tests, lines = tables.by_label(part, folder), on_tests(part, folder), []
    for label, c in runs.items():
        line = [f"`{c.row.options.split()[1]}`", *c.size(part)]
        for cells, events in tests.values():
            line += [shown(list(cells[label].values.values()), 1)]
            found = Difference(
                cells[label].minus(cells["lin"]),
                bleu_draws(events[label].values, events["lin"].values),
            )
            known = found.by_seed and label != "lin"
            over_text = percentiles(found.drawn, 0.95) if known else None
            line += [
                tables.with_interval(statistics.mean(found.by_seed), bounds, 1) if known else DASH
                for bounds in (over_text, found.wide if known else None)
            ]
        lines.append([*line, DASH if c.row.paper is None else f"{c.row.paper:g}"])
    columns = " | ".join(
        f"BLEU, {test} | minus lin's, over the sentences | over both" for test in tests
    )
    return f"{heading(part, runs.values())}\n\n" + markdown(
        f"head | parameters | target tokens | seeds | {columns} | paper's BLEU", lines
    )


def shown_ppl(c):
    return tables.with_interval(c.mean, c.interval)


# ---- M5 ----
rescored = events_of("rescoring")


def error_difference(cells, label, level):
    """(difference in WER from max in points, bootstrap interval): utterances' errors averaged over
    the seeds that both have; None of max itself."""
    base, mine = cells["max"].values, cells[label].values
    seeds = tables.common_seeds(base, mine)
    if not seeds or label == "max":
        return None
    more = lambda i: statistics.mean([mine[s]["errors"][i] - base[s]["errors"][i] for s in seeds])
    return ratio(tuple((more(i), n) for i, n in enumerate(base[seeds[0]]["words"])), level)


@rule(rescored)
def m5(cells, part, folder):
    found = {label: x for label in cells if (x := error_difference(cells, label, 0.90))}
    told = ", ".join(
        f"{k} {d:+.2f} [{low:.2f}, {high:.2f}]" for k, (d, (low, high)) in found.items()
    )
    margin = parts.M5_MARGIN
    holds = all(-margin < low and high < margin for _, (low, high) in found.values())
    return f"word error rate minus max's in points, bound ±{margin}: {told}", holds


def m5_table(part, folder=None):
    cells, trained = rescored(part, folder), tables.by_label(part, folder)
    pairs = {
        (label, seed): e["mapsswe"]["p"]
        for label, c in cells.items()
        if label != "max"
        for seed, e in c.values.items()
    }
    corrected, lines = dict(zip(pairs, statistics.holm(list(pairs.values())))), []
    for label, c in cells.items():
        events, model = list(c.values.values()), trained[label]
        difference = error_difference(cells, label, 0.90)
        mean = lambda kind: f"{statistics.mean([e[kind] for e in events]):.0f}" if events else DASH
        ps = ", ".join(tables.p_value(p) for (of, _), p in corrected.items() if of == label)
        line = [f"`{label}`", tables.whole(model.parameters), str(len(events)), shown_ppl(model)]
        line += [shown([e["rescored"]["wer"] for e in events])]
        line += map(mean, ("substitutions", "deletions", "insertions"))
        lines.append(
            [*line, *((tables.with_interval(*difference), ps) if difference else [DASH] * 2)]
        )
    first = next((e for c in cells.values() for e in c.values.values()), None)
    text = heading(part, cells.values()) + tables.devices(trained.values())
    if first:
        text += (
            f" First pass {first['first_pass']['wer']:.1f}%, oracle {first['oracle']['wer']:.1f}%"
            f" of {first['first_pass']['words']:,} words."
        )
    header = (
        "model | parameters | seeds | test perplexity | word error rate, % | sub | del | ins"
        " | points − max's, 90% interval (bootstrap over utterances)"
        " | MAPSSWE beside max of the same seed, p, Holm"
    )
    return f"{text}\n\n{markdown(header, lines)}"


# ---- SS ----
def occurrences_table(part, folder=None):
    """By how often the training text has a word: ln p in the test text, and what the models keep
    for the dictionary's words."""
    cells = events_of("occurrences")(part, folder)
    text = (
        "The next two tables were looked at afterwards, and no rule goes by them. They group words"
        " by their number of occurrences in the training text."
        f" **{lacking(part, list(cells.values())).replace('runs', 'models')} are measured**, each"
        " at its best checkpoint; means over seeds."
    )
    events = {label: list(c.values.values()) for label, c in cells.items() if c.values}
    if not events:
        return text
    first, full = next(iter(events.values()))[0], next(iter(cells))
    among, nats = "among themselves", lambda r: -r.of("occurrences")[0][among]["model"][1]
    logs = tables.measured(part, nats, folder)

    def means(kind, name, digits=3):
        of = lambda some: statistics.mean([e[kind][name][1] for e in some])
        return [f"{of(some):.{digits}f}" for some in events.values()]

    def beside(label):
        paired = logs[label].minus(logs[full])
        return "1" if label == full else tables.ratio(paired) if paired else DASH

    told = lambda name: "the end of a sentence" if name == occurrences.END else name
    named = [("model", name, told(name), *x) for name, x in first["language"].items()]
    named += [
        (
            among,
            "model",
            "words that occur, renormalised over these words",
            *first[among]["language"],
        )
    ]
    lines = [
        [label, f"{n:,}", f"{exact:.3f}", *means(kind, name)]
        for kind, name, label, n, exact in named
    ]
    same = f"the same: perplexity over that of `{full}`, paired by seed"
    lines.append([same, "", "", *map(beside, events)])
    kept = [
        [
            told(name),
            f"{n:,}",
            *map(", ".join, zip(means("bias", name, 2), means("length", name, 2))),
        ]
        for name, (n, _) in first["bias"].items()
    ]
    return "\n\n".join(
        [
            f"{text} The mean ln p in the test text, with a fresh state for every line:",
            markdown(
                ["occurrences in training", "in the test text", "the language", *events], lines
            ),
            "The mean bias and the mean length of the vectors of the dictionary's words:",
            markdown(["occurrences in training", "in the dictionary", *events], kept),
        ]
    )


# ---- D, D-S and D-S-content ----
def restricted(part, kind=None, folder=None):
    """On one kind of sets; without a name on the rule's."""
    kind = kind or measures.SETS[part.name][0]
    event = lambda r: next(e for e in r.of("restricted") if e["sets"] == kind)
    return tables.measured(part, event, folder)


def units_of(event):
    """[[unit, positions, right, nats]]: images, or what else of a text is drawn again."""
    return event.get("images") or event["units"]


def a_position(event, place):
    """The sum of what the units have at a place, by the number of positions."""
    units = units_of(event)
    return sum(unit[place] for unit in units) / sum(positions for _, positions, *_ in units)


def accuracy(event):
    """In points."""
    return 100 * a_position(event, 2)


def nats(event):
    """The cross-entropy of the restricted choices."""
    return a_position(event, 3)


def choice_differences(ours, theirs, place=2):
    """(differences by seed, of accuracy in points; units (more right, positions) with outcomes
    averaged over seeds) of {seed: event}, of the seeds that both have. The place 3 is of nats."""
    seeds = tables.common_seeds(ours, theirs)
    factor = 100 if place == 2 else 1

    def outcomes(events):
        found = {}
        for seed in seeds:
            for unit in units_of(events[seed]):
                found.setdefault(unit[0], [unit[1], 0.0])[1] += unit[place] / len(seeds)
        return found

    a, b = outcomes(ours), outcomes(theirs)
    units = tuple((a[unit][1] - b[unit][1], a[unit][0]) for unit in sorted(a))
    more = lambda seed: a_position(ours[seed], place) - a_position(theirs[seed], place)
    return [factor * more(seed) for seed in seeds], units


def accuracy_difference(ours, theirs):
    """(difference of restricted accuracy in points, 95% interval of a bootstrap over images with
    outcomes averaged over seeds, Student's of the seeds' differences); of {seed: event}, of the
    seeds that both have; None where they have none. The first takes the models as they are, the
    second the images."""
    over_seeds, units = choice_differences(ours, theirs)
    if not over_seeds:
        return None
    return *ratio(units, 0.95), statistics.interval(over_seeds)


def choice_difference(ours, theirs, place=2):
    """The Difference of two models' choices in points, or with the place 3 in nats."""
    over_seeds, units = choice_differences(ours, theirs, place)
    factor = 100 if place == 2 else 1
    return Difference(over_seeds, [factor * x for x in resampled(units)] if over_seeds else [])


def both_intervals(difference, drawn, seeds):
    return f"{difference:+.2f} [{drawn[0]:.2f}, {drawn[1]:.2f}]" + (
        f" ([{seeds[0]:.2f}, {seeds[1]:.2f}])" if seeds else ""
    )


def perplexities(part, folder=None):
    """{label: cells of the test perplexity} of the models that are compared, another part's too."""
    found = {}
    for m in part.measures:
        found.setdefault(m.label, []).append(m.needs[0])
    cells = lambda label, runs: tables.Cells(
        parts.Row(label, ""), runs, lambda r: r.test_ppl, folder
    )
    return {label: cells(label, runs) for label, runs in found.items()}


def tells_apart(beside, over_seeds):
    """The verdict on mixbig and the row `beside`; `over_seeds`: by the interval over seeds too."""

    @rule(lambda part, folder: restricted(part, folder=folder))
    def verdict(cells, part, folder):
        found = accuracy_difference(cells["mixbig"].values, cells[beside].values)
        if found is None:
            return every([])
        models = perplexities(part, folder)
        paired = models["mixbig"].against(models[beside])
        near = bool(paired) and abs(statistics.mean(paired)) < math.log(1.01)
        figure = (
            f"mixbig − {beside} {both_intervals(*found)} percentage points, interval over images"
            f" (over seeds), perplexities {'within' if near else 'not within'} 1% of each other"
        )
        _, drawn, seeds = found
        ahead = drawn[0] > 0
        holds = near and ahead and (not over_seeds or bool(seeds) and seeds[0] > 0)
        return figure, holds, ahead and not holds  # perplexity, or these seeds, may explain it

    return verdict


def d_lines(cells, models, beside):
    """The lines of the table of one kind of sets."""
    of_nats = {k: {seed: nats(e) for seed, e in c.values.items()} for k, c in cells.items()}
    lines = []
    for label, c in cells.items():
        events, strata = list(c.values.values()), []
        for name in events[0]["strata"] if events else ():
            right, positions = (sum(e["strata"][name][i] for e in events) for i in (1, 0))
            strata.append(f"{name}: {100 * right / positions:.1f}")
        line = [f"`{label}`", str(len(events)), shown_ppl(models[label])]
        line += [shown([accuracy(e) for e in events])]
        for other in beside:
            found = None if label == other else accuracy_difference(c.values, cells[other].values)
            line.append(both_intervals(*found) if found else DASH)
        further = tables.paired_differences(of_nats[label], of_nats[beside[1]])
        line += [shown(list(of_nats[label].values()), 4)]
        line += [DASH if label == beside[1] else shown(further, 4), "; ".join(strata) or DASH]
        lines.append(line)
    return lines


def d_table(part, folder=None):
    """Beside lin, and beside lin with a mixture's map."""
    models, beside = perplexities(part, folder), ("lin", "mix:1*lin")
    points = [f"points − `{k}`'s, bootstrap over images (Student's over seeds)" for k in beside]
    header = (
        f"model | seeds | test perplexity | accuracy, % | {' | '.join(points)}"
        f" | cross-entropy, nats | nats − `{beside[1]}`'s, over seeds"
        " | accuracy by the word's count in training"
    )
    blocks = [heading(part, restricted(part, folder=folder).values())]
    for kind in measures.SETS[part.name]:
        lines = d_lines(restricted(part, kind, folder), models, beside)
        told = "of content words, by ppmi" if kind == "content" else f"by {kind}"
        blocks.append(f"Sets {told}:\n\n{markdown(header, lines)}")
    return "\n\n".join(blocks)
