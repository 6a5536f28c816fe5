"""What a part shows on its page and in the summary: its rule, tables, plots and searches. Each part
has an entry, in the summary's order; parts.csv has its claim, parts.py and beyond.py say what it
trains and measures."""
import dataclasses
import operator
import typing

from . import claims, decoding, figures, measured, parts, projection, search, tables, training
from . import tuned, verdicts, words_apart


def compared(reference=None, by="setup"):
    """The general table beside the row `reference`, else the first; one for each set-up of a part,
    or for each `by` of its rows."""

    def table(part, folder=None):
        key = operator.attrgetter(by)
        each = [
            dataclasses.replace(
                part,
                rows=tuple(row for row in part.rows if key(row) == one),
                note="" if i else part.note,
            )
            for i, one in enumerate(dict.fromkeys(map(key, part.rows)))
        ]
        return "\n\n".join(
            tables.comparison(some, reference or some.rows[0].label, folder) for some in each
        )

    return table


def both(*made):
    return lambda part, folder=None: "\n\n".join(table(part, folder) for table in made)


# ---- searches: [(text before the table, tuning)] ----
SEARCH = "The search, on validation."


def headed(tunings):
    return [(SEARCH if tuning is tunings[0] else "", tuning) for tuning in tunings]


def searched(name):
    return lambda folder: headed(search.TUNINGS[name])


def t1_search(folder):
    left = search.unfinished(folder)
    note = (
        f" Not done for {', '.join(left)}: those rows of the table have the parameters of the older"
        f" records, at the rate {parts.RATE:g}."
        if left
        else ""
    )
    return [(SEARCH + note, parts.T1_TUNING)]


def norm_searches(folder):
    return headed(search.unigram_tunings(search.where(folder, parts.M2_TUNING)))


def curve_searches(folder):
    return [
        (f"The search on {lines:,} captions, on validation.", tuning)
        for lines, tuning in tuned.CURVE_TUNINGS.items()
    ]


def mt_searches(folder):
    return [
        (f"The search{bias}, on the development text.", tuning)
        for bias, tuning in parts.MT_TUNING.items()
    ]


def pairs_searches(folder):
    told = (
        "The search: kernels by perplexity on a tenth of the pairs, rates by BLEU on all of them."
    )
    return [(told, tuning) for tuning in search.TUNINGS["T1-MT-200k"]]


def on_fewer_pairs():
    return "on 29,000 pairs above (T1-MT)"


def untuned_translation():
    """What R4-MT's records say of T1-MT's rule."""
    cells = [
        c
        for c in tables.cells(training.all_parts()["R4-MT"])
        if c.row.group == parts.BESIDE[2] and c.values
    ]
    found = ", ".join(f"{c.row.label.partition(',')[0]} {c.average[0]:.1f}" for c in cells)
    # the same runs
    settled = any(c.average[0] >= 1 for c in cells if c.row.label.startswith(("log", "hpb")))
    return found and (
        "its untuned rows are [R4-MT](R4-MT.md)'s at scale 1, except for the parameters of rbf and"
        f" wav: {found} BLEU" + ". By its rule, below 1, it is settled: not reproduced" * settled
    )


class Plot(typing.NamedTuple):
    draw: typing.Callable  # of the part
    ending: str = ""  # of the file's name, which is the part's
    told: str = ""  # to a reader who does not see it; else the part's title


@dataclasses.dataclass(frozen=True)
class View:
    """The part is None for Dec, which trains nothing; the folder is that of the records, None for
    the repository's. The claim, with the paper's figures, is parts.csv's."""

    # (part, folder) -> (reproduced | not reproduced | undecided | not run, the figure)
    rule: typing.Callable
    table: typing.Callable = compared()  # (part, folder) -> Markdown
    plots: tuple = (Plot(figures.perplexities),)
    searches: typing.Callable = lambda folder: []
    commands: typing.Callable = tables.commands  # (part) -> Markdown
    # what other parts say of the claim while this one has not been run
    meanwhile: typing.Callable = lambda: ""


def wide(pairs):
    """The table of intervals over the seeds and the images; `pairs` gives a part's pairs of rows."""
    return lambda part, folder=None: claims.intervals(pairs(part), part, folder)


# what a search's figures are of, if not of the part's own text
OF_SEARCH = {
    "T1-SWB": "Kernels are searched on a fifth of the text, rates (`lr`) on all of it.",
    "T1-SC": "Rates are searched on a tenth of the text.",
    "T1-SC-whole": "Rates are searched on a tenth of the text.",
}


def spoken_view(name, rule, rows, meanwhile=lambda: ""):
    """Of a part on spoken English, whose rule has `rows` {label: {baseline: row}}."""

    def searches(folder):
        (text, first), *others = headed(search.TUNINGS[name])
        return [(" ".join([text, *filter(None, [OF_SEARCH.get(name)])]), first), *others]

    table = both(compared(), tables.best_epochs, wide(lambda part: verdicts.pairs_of(rows)))
    return View(rule, table, searches=searches, meanwhile=meanwhile)


def drawn(*draws):
    return tuple(map(Plot, draws))


UNTIED = both(compared(), tables.variants("mixture", "untied", "untied over tied"))
PRIOR = (
    Plot(figures.perplexities),
    Plot(figures.prior, "-pi", "The prior's share on inner products"),
)
MAPS = both(compared(), tables.variants("head", "map", "with a map over without"))
ALONE = measured.tells_apart("mix:1*lin", over_seeds=False)
ALONE_OVER_SEEDS = measured.tells_apart("mix:1*lin", over_seeds=True)
AVERAGED, SCALED = both(compared(), tables.averaging), both(compared(), tables.learned_scales)
CLOSE, GAPS = (measured.d_table, drawn(figures.close_words)), (
    measured.r3_table,
    drawn(figures.gaps),
)
SAMPLED = both(compared(), measured.occurrences_table)
BLEU_SCALED = both(tables.bleu_comparison, tables.learned_scales)
VIEWS = {
    "T1": View(verdicts.t1, searches=t1_search),
    "T1-MT": View(
        measured.t1_mt, measured.t1_mt_table, (), mt_searches, meanwhile=untuned_translation
    ),
    "T1-MT-200k": View(
        measured.t1_mt_200k, measured.t1_mt_200k_table, (), pairs_searches, meanwhile=on_fewer_pairs
    ),
    "T2": View(verdicts.t2, tables.t2_table, drawn(figures.variances)),
    "T3": View(verdicts.t3, UNTIED, PRIOR),
    "T1-L": View(verdicts.t1_l),
    "T3-L": View(verdicts.t3, UNTIED, PRIOR, searched("T3-L")),
    "T3b": View(verdicts.t3b),
    "MoS": View(verdicts.mos, AVERAGED, searches=searched("MoS")),
    "Dec": View(decoding.verdict, decoding.table, (), commands=decoding.commands),
    "D": View(
        measured.tells_apart("lin", over_seeds=True),
        *CLOSE,
        meanwhile=lambda: "on S below (D-S, D-S-content)",
    ),
    "D-S": View(ALONE, *CLOSE),
    "D-S-content": View(ALONE_OVER_SEEDS, *CLOSE),
    "M1": View(verdicts.m1, compared("base")),
    "M2": View(verdicts.m2, compared("none, contexts none"), searches=norm_searches),
    "M-rates": View(verdicts.rates, compared("base, lr=0.002"), drawn(figures.over_rates)),
    "M3": View(verdicts.m3, compared("base")),
    "M-L": View(verdicts.m_l),
    "M5": View(measured.m5, measured.m5_table, drawn(figures.word_errors)),
    "MF": View(measured.mf, measured.mf_table, drawn(figures.angles)),
    "SS": View(verdicts.ss, SAMPLED, drawn(figures.sampled), searched("SS")),
    "R1": View(projection.verdict, projection.table, drawn(figures.predicted)),
    "R1-slopes": View(verdicts.slopes, compared("lin")),
    "R1-warmup": View(verdicts.warmed),
    "R2": View(measured.r2, measured.r2_table, drawn(figures.corrected)),
    "R3": View(measured.r3, *GAPS, searched("R3")),
    "R3-warmup": View(measured.r3_warmup, *GAPS, searched("R3-warmup")),
    "R4": View(verdicts.r4, SCALED),
    "R4-MT": View(verdicts.r4_mt, BLEU_SCALED, ()),
    "R6": View(verdicts.r6, searches=searched("R6")),
    "R7": View(verdicts.maps, MAPS),
    "R5": View(measured.r5, measured.r5_table, ()),
    "S-random": View(
        verdicts.random_lines,
        both(compared(), wide(verdicts.random_pairs)),
        searches=searched("S-random"),
    ),
    "S-random-mix": View(
        verdicts.random_mixtures,
        both(compared(), wide(verdicts.random_pairs)),
        searches=searched("S-random-mix"),
    ),
    "Map-rates": View(
        verdicts.map_rates,
        both(compared(), wide(verdicts.map_pairs)),
        drawn(figures.over_rates),
    ),
    "Curve": View(
        verdicts.curve,
        both(compared(), wide(verdicts.curve_pairs)),
        drawn(figures.over_texts),
        curve_searches,
    ),
    "T1-SWB": spoken_view("T1-SWB", verdicts.t1_swb, verdicts.T1_SWB_ROWS),
    "M-SWB": spoken_view("M-SWB", verdicts.m_swb, verdicts.M_SWB_ROWS),
    "T3-SWB": spoken_view("T3-SWB", verdicts.t3_swb, verdicts.T3_SWB_ROWS),
    "T1-SC": spoken_view("T1-SC", verdicts.t1_sc, verdicts.SC_ROWS),
    "T4-SWB": View(words_apart.t4_swb, words_apart.table, ()),
    "T4-SC": View(words_apart.t4_sc, words_apart.table, ()),
    "T1-SC-whole": spoken_view(
        "T1-SC-whole",
        verdicts.t1_sc,
        verdicts.SC_ROWS,
        lambda: "for a GPU: 17 minutes of an H200",
    ),
    "Precision": View(verdicts.precision, plots=()),
    "Precision-mix": View(verdicts.precision, plots=()),
    "Precision-kernels": View(verdicts.precision_kernels, compared(by="group"), ()),
    "Precision-MT": View(verdicts.precision, tables.bleu_comparison, ()),
    "Precision-SWB": View(verdicts.precision_kernels, compared(by="group"), ()),
}
