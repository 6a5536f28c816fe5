"""Makes tables and verdicts from the records of what measures.py measured of trained models."""
import functools
import math
import random

from . import bleu, measures, occurrences, parts, statistics, tables

RESAMPLES = 1000
ALIKE = math.log(1.025)  # within ±2.5%: the rule of several parts, of logarithms


def started(table):
    return any(c.values for c in table)


def complete(part, table):
    return all(len(c.values) == (c.row.seeds or part.seeds) for c in table)


def lacking(part, table):
    return (
        f"{sum(len(c.values) for c in table)} of"
        f" {sum(c.row.seeds or part.seeds for c in table)} runs"
    )


def decided(part, table, holds, figure, middle=False):
    """A rule's outcome counts when every seed of every row is there; `middle`: it is neither."""
    if not complete(part, table):
        return "undecided", f"{figure}; {lacking(part, table)}"
    return ("undecided" if middle else "reproduced" if holds else "not reproduced"), figure


def shown(xs, digits=2):
    return tables.with_interval(*statistics.average(xs), digits)


def heading(part, cells):
    done = lacking(part, cells).replace("runs", "models")
    return (
        f"**{done} are measured.** Mean, with Student's 95% interval over seeds where there are two"
        f" or more. {part.note}".strip()
    )


def percentiles(found, level):
    found, tail = sorted(found), (1 - level) / 2
    return found[round(tail * (len(found) - 1))], found[round((1 - tail) * (len(found) - 1))]


@functools.lru_cache(maxsize=None)
def ratio(units, level):
    """100 Σa / Σb of units (a, b), and its percentile interval under a bootstrap over the units,
    seeded."""
    draw, figure = random.Random(1), lambda drawn: 100 * sum(a for a, _ in drawn) / sum(
        b for _, b in drawn
    )
    return figure(units), percentiles(
        [figure(draw.choices(units, k=len(units))) for _ in range(RESAMPLES)], level
    )


# ---- MF ----
ANGLES = (
    "nearest angle, full space",
    "nearest angle, plane",
    "circular variance, plane",
    "largest gap, plane",
    "pronouns, full space",
)


def angle_cells(part, folder=None):
    return tables.measured(part, lambda r: r.of("angles")[0], folder)


def angle_tests(cells):
    """{label: (difference of the nearest angle in the full space from base, Holm's p)}"""
    values = {label: [v[ANGLES[0]] for v in c.values.values()] for label, c in cells.items()}
    others = [label for label in ("arc:0.001", "cos:0.001") if values[label] and values["base"]]
    corrected = statistics.holm(
        [statistics.permutation_p(values[label], values["base"]) for label in others]
    )
    return {
        label: (statistics.mean(values[label]) - statistics.mean(values["base"]), p)
        for label, p in zip(others, corrected)
    }


def mf(part, folder=None):
    cells = angle_cells(part, folder)
    if not started(cells.values()):
        return "not run", tables.DASH
    tests = angle_tests(cells)
    figure = (
        ", ".join(
            f"{label} {difference:+.2f}° (p {tables.p_value(p)})"
            for label, (difference, p) in tests.items()
        )
        or "no comparison yet"
    )
    norm, base = ([v[ANGLES[0]] for v in cells[label].values.values()] for label in ("max", "base"))
    if norm and base:
        figure += (
            f"; the norm without a margin {statistics.mean(norm) - statistics.mean(base):+.2f}°"
        )
    return decided(
        part,
        list(cells.values()),
        len(tests) == 2 and all(d > 0 and p < 0.05 for d, p in tests.values()),
        figure,
    )


def mf_table(part, folder=None):
    cells = angle_cells(part, folder)
    tests, lines = angle_tests(cells), []
    for label, c in cells.items():
        angles = [[v[a] for v in c.values.values() if a in v] for a in ANGLES]
        difference = (
            (f"{tests[label][0]:+.2f}", tables.p_value(tests[label][1]))
            if label in tests
            else (tables.DASH, tables.DASH)
        )
        lines.append(
            [
                f"`{label}`",
                str(len(c.values)),
                *(shown(xs) if xs or not c.values else tables.DASH for xs in angles),
                *difference,
            ]
        )
    return (
        heading(part, cells.values())
        + "\n\n"
        + tables.markdown(
            ["model", "seeds", *ANGLES, "nearest angle − base's", "exact permutation p, Holm"],
            lines,
        )
    )


# ---- R2 ----
# the margins that the rule asks for a share; below, a quotient by a loss that is next to nothing
RULED = ("cos:0.01", "cos:0.03")


def effects(cells, label):
    """(a margin's loss beside m = 0, what its correction gains), in nats, a list over seeds
    each."""
    none, with_margin = cells["m=0"].values, cells[label].values
    seeds = tables.common_seeds(none, with_margin)
    return (
        [math.log(with_margin[s]["plain"] / none[s]["plain"]) for s in seeds],
        [math.log(with_margin[s]["plain"] / with_margin[s]["corrected"]) for s in seeds],
    )


def taken_back(cells, label):
    """By seed, the share of a margin's loss beside m = 0 that the correction takes back."""
    return [gain / loss if loss else math.nan for loss, gain in zip(*effects(cells, label))]


def corrected_cells(part, folder=None, event="perplexity"):
    return tables.measured(part, lambda r: r.of(event)[0], folder)


def r2(part, folder=None):
    cells = corrected_cells(part, folder)
    if not started(cells.values()):
        return "not run", tables.DASH
    found = {label: taken_back(cells, label) for label in RULED}
    bounds = [statistics.interval(xs) for xs in found.values()]
    figure = "share taken back: " + ", ".join(f"{label} {shown(xs)}" for label, xs in found.items())
    return decided(
        part, list(cells.values()), all(b is not None and b[0] > 0.5 for b in bounds), figure
    )


def r2_table(part, folder=None):
    blocks = [
        f"{text}\n\n{corrected_lines(corrected_cells(part, folder, event))}"
        for event, text in (
            ("perplexity", "Each line from a fresh state, by which the rule goes:"),
            ("running", "Running text, as in training and in M1's table:"),
        )
    ]
    return "\n\n".join([heading(part, corrected_cells(part, folder).values()), *blocks])


def corrected_lines(cells):
    percent = lambda nats: shown([100 * x for x in nats])
    lines = []
    for label, c in cells.items():
        events, line = list(c.values.values()), [
            f"`{label}`",
            str(len(c.values)),
            shown([v["plain"] for v in c.values.values()]),
        ]
        if label == "m=0":
            lines.append(line + [tables.DASH] * 4)
            continue
        lines.append(
            line
            + [
                shown([v["corrected"] for v in events]),
                *map(percent, effects(cells, label)),
                shown(taken_back(cells, label)) if label in RULED else tables.DASH,
            ]
        )
    return tables.markdown(
        [
            "margin",
            "seeds",
            "test perplexity, plain",
            "corrected",
            "loss beside m = 0, nats / 100",
            "the correction's gain, nats / 100",
            "share taken back, mean over seeds (of .01 and .03)",
        ],
        lines,
    )


# ---- R3 ----
def floor_of(record):
    return record.last("start", "entropy_floor_ppl")


def widths(part, folder=None):
    """{head: {width: (cells of log perplexity over the floor, cells of the rank)}}"""
    gap = {
        row.label: tables.Cells(
            row, part.runs_of(row), lambda r: r.valid_ppl() / floor_of(r), folder
        )
        for row in part.rows
    }
    ranks = tables.measured(part, lambda r: r.of("rank")[0]["rank"], folder)
    found = {}
    for row in part.rows:
        found.setdefault(row.group.replace(" --", ", "), {})[int(row.label.split()[-1])] = (
            gap[row.label],
            ranks[row.label],
        )
    return found


def r3(part, folder=None, middle=False):
    """`middle`: undecided, where nothing that the rule asks for is shown not to be."""
    found = widths(part, folder)
    every = [cells for by_width in found.values() for pair in by_width.values() for cells in pair]
    if not started(every):
        return "not run", tables.DASH
    paired = {
        width: found["mos, untied"][width][0].against(found["lin"][width][0])
        for width in found["lin"]
    }
    ranks = {width: list(found["lin"][width][1].values.values()) for width in found["lin"]}
    ratio = lambda xs, width: (
        tables.ratio(xs, 0.90) + " (90%)" if width == 128 else tables.ratio(xs)
    )
    figure = "mos untied over lin: " + ", ".join(
        f"{ratio(xs, width)} at {width}" for width, xs in paired.items() if xs
    )
    figure += "; lin's rank: " + ", ".join(
        f"{max(xs)} at {width}" for width, xs in ranks.items() if xs
    )
    bounds, bounds_128 = [statistics.interval(paired[w]) for w in (8, 16)], statistics.interval(
        paired[128], 0.90
    )
    algebra = all(r <= w + 2 for w in ranks for r in ranks[w])
    holds = (
        algebra
        and all(b is not None and b[1] < -ALIKE for b in bounds)
        and bool(statistics.equivalent(paired[128], ALIKE))
    )
    open_yet = (
        algebra
        and all(b is not None and b[0] < -ALIKE for b in bounds)
        and bounds_128 is not None
        and bounds_128[0] < ALIKE
        and bounds_128[1] > -ALIKE
    )
    return decided(part, every, holds, figure, middle and open_yet and not holds)


def r3_warmup(part, folder=None):
    return r3(part, folder, middle=True)


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
            nats, rate, xs = (
                list(gap.logs.values()),
                gap.row.options.partition("--lr ")[2].split()[0],
                paired.get((head, width)),
            )
            lines.append(
                [
                    f"`{head}`",
                    str(width),
                    rate,
                    tables.whole(gap.parameters),
                    str(len(nats)),
                    shown(nats, 4),
                    tables.ratio(xs) if xs else tables.DASH,
                    tables.p_value(corrected.get((head, width))),
                    shown(list(rank.values.values()), 1),
                ]
            )
    every = [pair[0] for by_width in found.values() for pair in by_width.values()]
    return (
        heading(part, every)
        + "\n\n"
        + tables.markdown(
            [
                "head",
                "width",
                "learning rate",
                "parameters",
                "seeds",
                "gap to the floor, nats a token of the validation text",
                "perplexity over lin's of that width, paired by seed",
                "p, Holm",
                "rank of the log-probability matrix, of 256 positions",
            ],
            lines,
        )
    )


# ---- R5 ----
KINDS = ("frequency", "entropy", "part of speech")


def share_cells(part, folder=None):
    return tables.measured(part, lambda r: r.of("shares")[0], folder)


def widest(event):
    """(difference, kind) of the two classes of one kind that are furthest apart."""
    return max(
        (max(m for _, m in event[kind].values()) - min(m for _, m in event[kind].values()), kind)
        for kind in KINDS
    )


def r5(part, folder=None):
    cells = share_cells(part, folder)
    if not started(cells.values()):
        return "not run", tables.DASH
    found = {label: [widest(v)[0] for v in c.values.values()] for label, c in cells.items()}
    bounds = [statistics.interval(xs) for xs in found.values()]
    figure = "largest difference between classes: " + ", ".join(
        f"{label} {statistics.mean(xs):.2f}" for label, xs in found.items() if xs
    )
    return decided(
        part, list(cells.values()), all(b is not None and b[1] < 0.1 for b in bounds), figure
    )


def r5_table(part, folder=None):
    cells = share_cells(part, folder)
    labels = [label for label, c in cells.items() if c.values]
    lines = []
    for kind in KINDS:
        for name in sorted(
            {name for label in labels for v in cells[label].values.values() for name in v[kind]}
        ):
            each = [
                [v[kind][name][1] for v in cells[label].values.values() if name in v[kind]]
                for label in labels
            ]
            lines.append([kind, name, *(shown(xs, 3) for xs in each)])
    whole = []
    for label in labels:
        quarters = [
            [mean for _, (_, mean) in sorted(v["entropy"].items())]
            for v in cells[label].values.values()
        ]
        everywhere = [
            math.fsum(n * mean for n, mean in v["entropy"].values())
            / sum(n for n, _ in v["entropy"].values())
            for v in cells[label].values.values()
        ]
        whole.append(
            [f"`{label}`", shown([by[0] - by[-1] for by in quarters], 3), shown(everywhere, 3)]
        )
    return "\n\n".join(
        [
            heading(part, cells.values()),
            tables.markdown(["by", "class", *(f"`{label}`" for label in labels)], lines),
            tables.markdown(
                ["model", "quarter 1 − quarter 4 of the entropy", "over all positions"], whole
            ),
        ]
    )


# ---- T1-MT ----
def bleu_difference(ours, theirs):
    """(difference in BLEU, its 95% interval) of two systems, {seed: event}, averaged over the seeds
    that both have; None where they have none."""
    seeds = tables.common_seeds(ours, theirs)
    if not seeds:
        return None
    average = lambda system: [
        statistics.mean(each) for each in zip(*(system[s]["resamples"] for s in seeds))
    ]
    difference = statistics.mean([ours[s]["bleu"] - theirs[s]["bleu"] for s in seeds])
    return difference, percentiles([a - b for a, b in zip(average(ours), average(theirs))], 0.95)


def t1_mt(part, folder=None):
    table = tables.cells(part, folder)
    if not started(table):
        return "not run", tables.DASH
    untuned = [c for c in table if c.row.group == "untuned"]
    figure = "; ".join(
        f"{group}: "
        + ", ".join(
            f"{c.row.label.partition(',')[0]} {c.average[0]:.1f}"
            for c in table
            if c.row.group == group and c.values
        )
        for group in ("untuned", "tuned", "tuned, bias")
    )
    return decided(part, table, all(c.values and c.average[0] < 1 for c in untuned), figure)


def t1_mt_table(part, folder=None):
    table, translated = tables.cells(part, folder), tables.measured(
        part, lambda r: r.of("translations")[0], folder
    )
    lines = []
    for c in table:
        difference = (
            bleu_difference(translated[c.row.label].values, translated["lin"].values)
            if c.row.label != "lin"
            else None
        )
        perplexity = tables.Cells(c.row, part.runs_of(c.row), lambda r: r.test_ppl, folder)
        lines.append(
            [
                f"`{c.row.options.split()[1]}`",
                c.row.group,
                tables.whole(c.parameters),
                tables.whole(c.tokens and c.tokens * part.epochs),
                str(len(c.values)),
                shown(list(c.values.values()), 1),
                tables.with_interval(perplexity.mean, perplexity.interval),
                f"{c.row.paper:g}" if c.row.paper is not None else tables.DASH,
                tables.with_interval(*difference, 1) if difference else tables.DASH,
                (
                    tables.with_interval(*statistics.average(by_seed), 1)
                    if (by_seed := c.minus(table[0])) and c is not table[0]
                    else tables.DASH
                ),
            ]
        )
    text = (
        f"{tables.head(part, table)} BLEU is greedy, of the tokenised text; the difference's"
        f" interval is a paired bootstrap over the test set's sentences, {RESAMPLES:,} resamples,"
        " for these models, or Student's over the seeds.\n\n"
    )
    return text + tables.markdown(
        [
            "head",
            "row",
            "parameters",
            "target tokens",
            "seeds",
            "test BLEU",
            "test perplexity",
            "paper's BLEU",
            "BLEU − tuned lin's",
            "the same by seed",
        ],
        lines,
    )


# ---- M5 ----
def rescored(part, folder=None):
    return tables.measured(part, lambda r: r.of("rescoring")[0], folder)


def error_difference(cells, label, level):
    """(difference in WER from max in points, bootstrap interval): utterances' errors averaged over
    the seeds that both have."""
    base, mine = cells["max"].values, cells[label].values
    seeds = tables.common_seeds(base, mine)
    if not seeds:
        return None
    words = base[seeds[0]]["words"]
    return ratio(
        tuple(
            (statistics.mean([mine[s]["errors"][i] - base[s]["errors"][i] for s in seeds]), n)
            for i, n in enumerate(words)
        ),
        level,
    )


def m5(part, folder=None):
    cells = rescored(part, folder)
    if not started(cells.values()):
        return "not run", tables.DASH
    found = {
        label: error_difference(cells, label, 0.90)
        for label in cells
        if label != "max" and cells[label].values
    }
    found = {label: x for label, x in found.items() if x}
    figure = f"margin ±{parts.M5_MARGIN} points: " + ", ".join(
        f"{label} {d:+.2f} [{low:.2f}, {high:.2f}]" for label, (d, (low, high)) in found.items()
    )
    return decided(
        part,
        list(cells.values()),
        len(found) == 2
        and all(
            -parts.M5_MARGIN < low and high < parts.M5_MARGIN for _, (low, high) in found.values()
        ),
        figure,
    )


def m5_table(part, folder=None):
    cells, trained = rescored(part, folder), {c.row.label: c for c in tables.cells(part, folder)}
    pairs = {
        (label, seed): e["mapsswe"]["p"]
        for label, c in cells.items()
        if label != "max"
        for seed, e in c.values.items()
    }
    corrected, lines = dict(zip(pairs, statistics.holm(list(pairs.values())))), []
    for label, c in cells.items():
        events, model = list(c.values.values()), trained[label]
        difference = error_difference(cells, label, 0.90) if label != "max" else None
        counts = [
            f"{statistics.mean([e[k] for e in events]):.0f}" if events else tables.DASH
            for k in ("substitutions", "deletions", "insertions")
        ]
        lines.append(
            [
                f"`{label}`",
                tables.whole(model.parameters),
                str(len(events)),
                tables.with_interval(model.mean, model.interval),
                shown([e["rescored"]["wer"] for e in events]),
                *counts,
                tables.with_interval(*difference) if difference else tables.DASH,
                (
                    ", ".join(tables.p_value(p) for (of, _), p in corrected.items() if of == label)
                    if difference
                    else tables.DASH
                ),
            ]
        )
    first = next((e for c in cells.values() for e in c.values.values()), None)
    text = heading(part, cells.values()) + tables.devices(trained.values())
    if first:
        text += (
            f" First pass {first['first_pass']['wer']:.1f}%, oracle {first['oracle']['wer']:.1f}%"
            f" of {first['first_pass']['words']:,} words."
        )
    return (
        text
        + "\n\n"
        + tables.markdown(
            [
                "model",
                "parameters",
                "seeds",
                "test perplexity",
                "word error rate, %",
                "sub",
                "del",
                "ins",
                "points − max's, 90% interval (bootstrap over utterances)",
                "MAPSSWE beside max of the same seed, p, Holm",
            ],
            lines,
        )
    )


# ---- SS ----
def occurrences_table(part, folder=None):
    """By how often the training text has a word: ln p in the test text, and what the models keep
    for the dictionary's words."""
    cells = tables.measured(part, lambda r: r.of("occurrences")[0], folder)
    text = (
        "Looked at afterwards, by no rule: words by how often the training text has them."
        f" **{lacking(part, list(cells.values())).replace('runs', 'models')} are measured**, each"
        " at its best checkpoint; means over seeds."
    )
    events = {label: list(c.values.values()) for label, c in cells.items() if c.values}
    if not events:
        return text
    first, full = next(iter(events.values()))[0], next(iter(cells))
    average = lambda label, kind, name: statistics.mean([e[kind][name][1] for e in events[label]])
    nats = tables.measured(
        part, lambda r: -r.of("occurrences")[0]["among themselves"]["model"][1], folder
    )
    beside = {label: nats[label].minus(nats[full]) for label in events}
    told = lambda name: "the end of a sentence" if name == occurrences.END else name
    lines = [
        [
            told(name),
            f"{n:,}",
            f"{exact:.3f}",
            *(f"{average(label, 'model', name):.3f}" for label in events),
        ]
        for name, (n, exact) in first["language"].items()
    ]
    n, exact = first["among themselves"]["language"]
    lines += [
        [
            "words that occur, were there only those",
            f"{n:,}",
            f"{exact:.3f}",
            *(f"{average(label, 'among themselves', 'model'):.3f}" for label in events),
        ],
        [
            f"the same: perplexity over that of `{full}`, paired by seed",
            "",
            "",
            *(
                (
                    "1"
                    if label == full
                    else tables.ratio(beside[label])
                    if beside[label]
                    else tables.DASH
                )
                for label in events
            ),
        ],
    ]
    kept = [
        [
            told(name),
            f"{n:,}",
            *(
                f"{average(label, 'bias', name):.2f}, {average(label, 'length', name):.2f}"
                for label in events
            ),
        ]
        for name, (n, _) in first["bias"].items()
    ]
    return "\n\n".join(
        [
            f"{text} Mean ln p in the test text, every line from a fresh state:",
            tables.markdown(
                ["occurrences in training", "in the test text", "the language", *events], lines
            ),
            "Mean bias and mean length of the vector, of the dictionary's words:",
            tables.markdown(["occurrences in training", "in the dictionary", *events], kept),
        ]
    )


# ---- D, D-S and D-S-content ----
def restricted(part, kind=None, folder=None):
    """On one kind of sets; without a name on the rule's."""
    return tables.measured(
        part,
        lambda r: next(
            e for e in r.of("restricted") if e["sets"] == (kind or measures.SETS[part.name][0])
        ),
        folder,
    )


def accuracy(event):
    """In points."""
    return (
        100
        * sum(right for _, _, right, _ in event["images"])
        / sum(positions for _, positions, *_ in event["images"])
    )


def nats(event):
    """The cross-entropy of the restricted choices."""
    return sum(n for *_, n in event["images"]) / sum(
        positions for _, positions, *_ in event["images"]
    )


def accuracy_difference(ours, theirs):
    """(difference of restricted accuracy in points, 95% interval of a bootstrap over images with
    outcomes averaged over seeds, Student's of the seeds' differences); of {seed: event}, of the
    seeds that both have; None where they have none. The first takes the models as they are, the
    second the images."""
    seeds = tables.common_seeds(ours, theirs)

    def outcomes(events):
        found = {}
        for seed in seeds:
            for image, positions, right, _ in events[seed]["images"]:
                found.setdefault(image, [positions, 0.0])[1] += right / len(seeds)
        return found

    if not seeds:
        return None
    a, b = outcomes(ours), outcomes(theirs)
    difference, drawn = ratio(
        tuple((a[image][1] - b[image][1], a[image][0]) for image in sorted(a)), 0.95
    )
    return (
        difference,
        drawn,
        statistics.interval([accuracy(ours[seed]) - accuracy(theirs[seed]) for seed in seeds]),
    )


def both_intervals(difference, drawn, seeds):
    return f"{difference:+.2f} [{drawn[0]:.2f}, {drawn[1]:.2f}]" + (
        f" ([{seeds[0]:.2f}, {seeds[1]:.2f}])" if seeds else ""
    )


def perplexities(part, folder=None):
    """{label: cells of the test perplexity} of the models that are compared, another part's too."""
    found = {}
    for m in part.measures:
        found.setdefault(m.label, []).append(m.needs[0])
    return {
        label: tables.Cells(parts.Row(label, ""), runs, lambda r: r.test_ppl, folder)
        for label, runs in found.items()
    }


def tells_apart(beside, over_seeds):
    """The verdict on mixbig and the row `beside`; `over_seeds`: by the interval over seeds too."""

    def verdict(part, folder=None):
        cells = restricted(part, folder=folder)
        if not started(cells.values()):
            return "not run", tables.DASH
        found = accuracy_difference(cells["mixbig"].values, cells[beside].values)
        models = perplexities(part, folder)
        paired = models["mixbig"].against(models[beside])
        near = bool(paired) and abs(statistics.mean(paired)) < math.log(1.01)
        if found is None:
            return "undecided", lacking(part, list(cells.values()))
        _, drawn, seeds = found
        figure = (
            f"mixbig − {beside} {both_intervals(*found)} points, by images (by seeds), perplexities"
            f" {'within' if near else 'not within'} 1%"
        )
        ahead = drawn[0] > 0
        holds = near and ahead and (not over_seeds or bool(seeds) and seeds[0] > 0)
        # perplexity, or these seeds, may explain it
        return decided(part, list(cells.values()), holds, figure, middle=ahead and not holds)

    return verdict


def d_table(part, folder=None):
    """Beside lin, and beside lin with a mixture's map."""
    models, blocks, beside = perplexities(part, folder), [], ("lin", "mix:1*lin")
    for kind in measures.SETS[part.name]:
        cells, lines = restricted(part, kind, folder), []
        for label, c in cells.items():
            events = list(c.values.values())
            rights = {
                name: [sum(e["strata"][name][i] for e in events) for i in (1, 0)]
                for name in (events[0]["strata"] if events else ())
            }
            strata = "; ".join(
                f"{name}: {100 * right / positions:.1f}"
                for name, (right, positions) in rights.items()
            )
            found = [
                None if label == other else accuracy_difference(c.values, cells[other].values)
                for other in beside
            ]
            lines.append(
                [
                    f"`{label}`",
                    str(len(events)),
                    tables.with_interval(models[label].mean, models[label].interval),
                    shown([accuracy(e) for e in events]),
                    *(
                        both_intervals(*difference) if difference else tables.DASH
                        for difference in found
                    ),
                    shown([nats(e) for e in events], 4),
                    (
                        tables.DASH
                        if label == beside[1]
                        else shown(
                            tables.paired_differences(
                                *(
                                    {seed: nats(e) for seed, e in cells[k].values.items()}
                                    for k in (label, beside[1])
                                )
                            ),
                            4,
                        )
                    ),
                    strata or tables.DASH,
                ]
            )
        blocks.append(
            f"Sets {'of content words, by ppmi' if kind == 'content' else f'by {kind}'}:\n\n"
            + tables.markdown(
                [
                    "model",
                    "seeds",
                    "test perplexity",
                    "accuracy, %",
                    *(
                        f"points − `{other}`'s, bootstrap over images (Student's over seeds)"
                        for other in beside
                    ),
                    "cross-entropy, nats",
                    f"nats − `{beside[1]}`'s, over seeds",
                    "accuracy by the word's count in training",
                ],
                lines,
            )
        )
    return heading(part, restricted(part, folder=folder).values()) + "\n\n" + "\n\n".join(blocks)
