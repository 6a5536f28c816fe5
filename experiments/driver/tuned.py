"""What S-random, S-random-mix, Map-rates and Curve train: rows that are tuned alike, on texts of
several sizes. docs/results/rules.md says what decides them."""
from . import parts
from .parts import WARMUP, trained
from .setups import SIZES, Row, Tuning, shaped

MAP = "lin --head-context tanh"
DROPPED = "lin, dropout"  # the second baseline

# ---- S-random: for each row a ladder of rates without a warm-up and one with it ----
RANDOM_HEADS = {
    "lin": "lin",
    DROPPED: f"lin {parts.OUTER.format(0.5)}",  # R6's choice
    "lin, map": MAP,
    "log": "log:p=8",
    "pol": "pol:alpha=2:p=2",
    "max": "lin --context-norm max",
}


def random_tuning(name, heads):
    """A search for rows {label: head with options} on random captions."""
    return Tuning(
        name,
        10,
        {
            k: tuple((f"{head}{warm} --lr {{}}", (0.004, 0.008), 2) for warm in ("", WARMUP))
            for k, head in heads.items()
        },
        parts.RATE,
        options="--head {}",
        setup="S, random lines",
    )


RANDOM_TUNING = random_tuning("S-random-search", RANDOM_HEADS)
RANDOM_PAPER = {"lin": 46.8, "log": 103.0, "pol": 47.3}


def random_rows(chosen, tuning, papers, labels=None):
    """`chosen(tuning, row)` begins with its head, with the rate and the warm-up that the search
    found so far."""
    return [
        Row(k, tuning.options.format(chosen(tuning, k)[0]), papers.get(k))
        for k in labels or tuning.ladders
    ]


def random_lines(chosen, measure=None):
    rows = random_rows(chosen, RANDOM_TUNING, RANDOM_PAPER)
    note = (
        "The paper's perplexities are the kernel paper's. Of `max` the margin paper has 52.9 beside"
        " 53.7, .985 times."
    )
    return parts.measured(shaped("S-random", rows, note=note), measure)


# ---- S-random-mix: mixtures with S-random's tuning, beside its runs of lin ----
BASES = ("lin", DROPPED)
# with the kernels that T1's search chose
MIXED = {
    preset: parts.mixture(
        parts.PRESETS[preset][1],
        lambda kernel: ({**RANDOM_HEADS, "rbf": "rbf:gamma=1"}[kernel],),
    )
    + " --pi-reg variance:0.1"
    for preset in ("mix2", "mix5", "mos")
}
# which mixture stands beside lin with dropout: with the same dropout, but for mix5
WITH_DROPOUT = {"mix2": "mix2, dropout", "mix5": "mix5", "mos": "mos, dropout"}
MIXED_TUNING = random_tuning(
    "S-random-mix-search",
    MIXED
    | {
        label: f"{MIXED[preset]} {parts.OUTER.format(0.5)}"
        for preset, label in WITH_DROPOUT.items()
        if label != preset
    },
)
# choices of another part's search that a part has too
OTHER_CHOICES = {"S-random-mix": tuple((k, RANDOM_TUNING) for k in BASES)}


def random_mixtures(chosen, measure=None):
    papers = {preset: parts.PRESETS[preset][0] for preset in MIXED}
    rows = random_rows(chosen, RANDOM_TUNING, RANDOM_PAPER, BASES)
    rows += random_rows(chosen, MIXED_TUNING, papers)
    note = "The runs of `lin` and of `lin, dropout` are S-random's."
    return parts.measured(shaped("S-random-mix", rows, note=note), measure)


# ---- Map-rates ----
MAP_RATES = (0.002, 0.004, 0.008)


def map_rates(measure=None):
    rows = [
        trained(f"{k}, lr={rate:g}", head, rate, group=k)
        for rate in MAP_RATES
        for k, head in {"lin": "lin", "lin, map": MAP}.items()
    ]
    return parts.measured(shaped("Map-rates", rows), measure)


# ---- Curve: on each text a search for each row; the dropout comes before the rate ----
CURVE_LADDERS = {
    "lin": (),
    DROPPED: (("lin --dropout-output {}", (0.2, 0.4, 0.6), 1.5),),
    "lin, map": ((MAP, (), 0),),
    "log": (("log:p=8", (), 0),),
    "pol": (("pol:alpha=2:p=2", (), 0),),
}
CURVE_TUNINGS = {
    lines: Tuning(
        f"Curve-search-{lines}",
        epochs,
        CURVE_LADDERS,
        0.004,
        (0.002, 0.004, 0.008),
        "--head {} --lr {:g}" + WARMUP,
        f"{lines:,} lines",
    )
    for lines, epochs in SIZES.items()
}


def curve_row(kernel, lines):
    return f"{kernel}, {lines:,} lines"


def curve(chosen, measure=None):
    rows = [
        Row(
            curve_row(k, lines),
            tuning.options.format(*chosen(tuning, k)),
            RANDOM_PAPER.get(k),
            k,
            setup=tuning.setup,
            epochs=tuning.epochs,
        )
        for lines, tuning in CURVE_TUNINGS.items()
        for k in CURVE_LADDERS
    ]
    return parts.measured(shaped("Curve", rows), measure)
