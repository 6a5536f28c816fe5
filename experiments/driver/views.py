"""What a part shows on its page and in the summary: its claim, its rule, tables, plots and
searches. Each part has an entry, in the summary's order; parts.py and beyond.py say what it trains
and measures."""
import dataclasses
import operator
import typing

from . import decoding, figures, measured, parts, projection, search, tables, training, verdicts


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


def mt_searches(folder):
    return [
        (f"The search{bias}, on the development text.", tuning)
        for bias, tuning in parts.MT_TUNING.items()
    ]


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
        "its untuned rows are [R4-MT](R4-MT.md)'s at scale 1 but for rbf's and wav's parameters,"
        f" {found} BLEU" + ": by its rule, below 1, it cannot be reproduced any more" * settled
    )


class Plot(typing.NamedTuple):
    draw: typing.Callable  # of the part
    ending: str = ""  # of the file's name, which is the part's
    told: str = ""  # to a reader who does not see it; else the part's title


@dataclasses.dataclass(frozen=True)
class View:
    """The part is None for Dec, which trains nothing; the folder is that of the records, None for
    the repository's."""

    claim: str  # with the paper's figures
    # (part, folder) -> (reproduced | not reproduced | undecided | not run, the figure)
    rule: typing.Callable
    table: typing.Callable = compared()  # (part, folder) -> Markdown
    plots: tuple = (Plot(figures.perplexities),)
    searches: typing.Callable = lambda folder: []
    commands: typing.Callable = tables.commands  # (part) -> Markdown
    # what other parts say of the claim while this one has not been run
    meanwhile: typing.Callable = lambda: ""


UNTIED = tables.variants("mixture", "untied", "untied over tied")
PRIOR = Plot(figures.prior, "-pi", "The prior's share on inner products")
VIEWS = {
    "T1": View(
        (
            "kernel paper, Table 1: lin, pow, pol, mog alike; then ssg; then log and hpb; rbf and"
            " wav last"
        ),
        verdicts.t1,
        searches=t1_search,
    ),
    "T1-MT": View(
        "kernel paper, Table 1, BLEU: log 0.4, hpb 0.3, rbf and wav 0.0 beside lin's 34.3",
        measured.t1_mt,
        table=measured.t1_mt_table,
        plots=(),
        searches=mt_searches,
        meanwhile=untuned_translation,
    ),
    "T2": View(
        "kernel paper, Table 2: the prior's variance 4.74 4.98 3.67 3.81 for ρ = .001 to 1",
        verdicts.t2,
        table=tables.t2_table,
        plots=(Plot(figures.variances),),
    ),
    "T3": View(
        (
            "kernel paper, Table 3: mixtures with lin are as good as lin (46.5 to 47.8 beside"
            " 46.8), and lin carries them"
        ),
        verdicts.t3,
        table=both(compared(), UNTIED),
        plots=(Plot(figures.perplexities), PRIOR),
    ),
    "T1-L": View("the same order of six heads on all captions", verdicts.t1_l),
    "T3-L": View(
        "the same of mix2 and mos on all captions",
        verdicts.t3,
        table=both(compared(), UNTIED),
        plots=(Plot(figures.perplexities), PRIOR),
        searches=searched("T3-L"),
    ),
    "T3b": View("kernel paper: only mixtures with lin are good", verdicts.t3b),
    "MoS": View(
        "kernel paper: mos needs regularisation to help",
        verdicts.mos,
        table=both(compared(), tables.averaging),
        searches=searched("MoS"),
    ),
    "Dec": View(
        "kernel paper, section 4.4: mixtures slow decoding down by a factor of two",
        decoding.verdict,
        table=decoding.table,
        plots=(),
        commands=decoding.commands,
    ),
    "D": View(
        "kernel paper, Table 4: mixtures tell close words apart",
        measured.tells_apart("lin", over_seeds=True),
        table=measured.d_table,
        plots=(Plot(figures.close_words),),
        meanwhile=lambda: "on S below (D-S, D-S-content)",
    ),
    "D-S": View(
        "kernel paper, Table 4: mixtures tell close words apart, on S, beside a model as good",
        measured.tells_apart("mix:1*lin", over_seeds=False),
        table=measured.d_table,
        plots=(Plot(figures.close_words),),
    ),
    "D-S-content": View(
        "kernel paper, Table 4: the same, of content words",
        measured.tells_apart("mix:1*lin", over_seeds=True),
        table=measured.d_table,
        plots=(Plot(figures.close_words),),
    ),
    "M1": View(
        (
            "margin paper, Table 1: base 53.7, lsm:2 390.3, m = 0 66.9, and up to 170 (arc) and 382"
            " (cos) at m = .03"
        ),
        verdicts.m1,
        table=compared("base"),
    ),
    "M2": View(
        (
            "margin paper, Table 2: norms in the order of its ten perplexities; max-norm contexts"
            " alone help (52.9 beside 53.7)"
        ),
        verdicts.m2,
        table=compared("none, contexts none"),
        searches=norm_searches,
    ),
    "M-rates": View(
        (
            "beyond the papers: what normed contexts gain is speed of learning; with a rate of its"
            " own base is as good"
        ),
        verdicts.rates,
        table=compared("base, lr=0.002"),
        plots=(Plot(figures.over_rates),),
    ),
    "M3": View(
        (
            "margin paper, Table 3: with max-norm contexts a margin of .001 costs 0.7 to 0.9%"
            " beside base without them, one of .01 12 to 13%"
        ),
        verdicts.m3,
        table=compared("base"),
    ),
    "M-L": View("margin paper, Tables 2 and 3, on all captions", verdicts.m_l),
    "M5": View(
        "margin paper, Table 5: word error rate 10.4 three times",
        measured.m5,
        table=measured.m5_table,
        plots=(Plot(figures.word_errors),),
    ),
    "MF": View(
        "margin paper, Figure 1: a margin spreads the words",
        measured.mf,
        table=measured.mf_table,
        plots=(Plot(figures.angles),),
    ),
    "SS": View(
        "a sampled softmax loses little (Jean et al. 2015)",
        verdicts.ss,
        table=both(compared(), measured.occurrences_table),
        plots=(Plot(figures.sampled),),
        searches=searched("SS"),
    ),
    "R1": View(
        "beyond the papers: the range of a score decides, not its gradient",
        projection.verdict,
        table=projection.table,
        plots=(Plot(figures.predicted),),
    ),
    "R1-slopes": View(
        (
            "beyond the papers: a model ends near the kernel whose value it has, not near the one"
            " whose slope"
        ),
        verdicts.slopes,
        table=compared("lin"),
    ),
    "R1-warmup": View(
        (
            "beyond the papers: what keeps rbf, wav and log at the unigram is the rate of the first"
            " updates; warmed up, every seed leaves"
        ),
        verdicts.warmed,
    ),
    "R2": View(
        (
            "beyond the papers: more than half of a cosine margin's loss is calibration, and can be"
            " undone"
        ),
        measured.r2,
        table=measured.r2_table,
        plots=(Plot(figures.corrected),),
    ),
    "R3": View(
        "beyond the papers: the softmax bottleneck binds at widths 8 and 16, not at 128",
        measured.r3,
        table=measured.r3_table,
        plots=(Plot(figures.gaps),),
        searches=searched("R3"),
    ),
    "R3-warmup": View(
        (
            "beyond the papers: and so it does where every head starts from the unigram, with a"
            " warm-up, for twice as long"
        ),
        measured.r3_warmup,
        table=measured.r3_table,
        plots=(Plot(figures.gaps),),
        searches=searched("R3-warmup"),
    ),
    "R4": View(
        "beyond the papers: with a learned scale rbf and wav come near lin",
        verdicts.r4,
        table=both(compared(), tables.learned_scales),
    ),
    "R4-MT": View(
        (
            "beyond the papers: and in translation log, hpb, rbf and wav (6.1, 6.0, 0.0 and 0.0"
            " BLEU at scale 1)"
        ),
        verdicts.r4_mt,
        table=both(tables.bleu_comparison, tables.learned_scales),
        plots=(),
    ),
    "R6": View(
        (
            "beyond the papers: pol, log and rbf with a scale of 10 are ahead of lin, each with a"
            " rate and a dropout of its own"
        ),
        verdicts.r6,
        searches=searched("R6"),
    ),
    "R7": View(
        (
            "beyond the papers: what mixtures gain over lin (T3) is their map's, tanh(C h), not the"
            " mixing's"
        ),
        verdicts.maps,
        table=both(compared(), tables.variants("head", "map", "with a map over without")),
    ),
    "R5": View(
        (
            "beyond the papers: a mixture's prior chooses next to nothing by frequency, entropy or"
            " part of speech"
        ),
        measured.r5,
        table=measured.r5_table,
        plots=(),
    ),
    "Precision": View(
        (
            "beyond the papers: products of bfloat16 pieces (`--matmul-precision`) leave a language"
            " model within the spread of float32's seeds"
        ),
        verdicts.precision,
        plots=(),
    ),
    "Precision-mix": View(
        "beyond the papers: and a mixture of lin, log, rbf and hpb", verdicts.precision, plots=()
    ),
    "Precision-kernels": View(
        "beyond the papers: and log, rbf, hpb and wav, each alone",
        verdicts.precision_kernels,
        table=compared(by="group"),
        plots=(),
    ),
    "Precision-MT": View(
        "beyond the papers: and a translation model",
        verdicts.precision,
        table=tables.bleu_comparison,
        plots=(),
    ),
}
