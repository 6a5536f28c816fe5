"""What each part trains: rows (a label, options, the paper's figure) times seeds.
docs/results/rules.md says what decides a part."""
import dataclasses
import typing

from .setups import Measure, Part, Row, Run, Tuning  # noqa: F401


def lr(value):
    return f"--lr {value:g}"


# ---- T1: the ladders that tuning climbs; each starts with what experiments/heads/search has ----
# kernel: (template of the head, values, factor of the next step). A kernel may have several
# ladders.
LADDERS = {
    "lin": (),
    "log": (("log:p={}", (0.5, 1, 2, 4), 2),),
    "pow": (("pow:p={}", (0.5, 1, 2, 3), 1.5),),
    "pol": (("pol:alpha={}:p=2", (0.5, 1), 2),),
    "rbf": (("rbf:gamma={}", (0.01, 0.1, 1), 10),),
    "ssg": (("ssg:pace={}", (0.01, 0.1, 1), 10),),  # variances that train: docs/heads.md, section 2
    "mog": (
        ("mog:form=sum:pace={}", (0.01, 0.1, 1), 10),
        ("mog:form=mixture:pace={}", (0.01, 0.1, 1), 10),
    ),
    "hpb": tuple((f"hpb:ball={ball}", (), 0) for ball in ("lorentz", "tanh", "clip", "sigmoid")),
    "wav": (("wav:a={0}:b={0}", (1, 10, 100), 10), ("wav:a=1:b={}", (1, 10), 10)),
    "sig": (),
}
SEARCH_EPOCHS, RATE = 2, 0.002
# an epoch of S: without it some seeds of rbf, wav and log stay at the unigram (docs/results/T1.md)
WARMUP = " --warmup 175"
T1_PAPER = {
    "lin": 46.8,
    "log": 103.0,
    "pow": 46.8,
    "pol": 47.3,
    "rbf": 284.9,
    "ssg": 49.9,
    "mog": 46.7,
    "hpb": 122.6,
    "wav": 289.7,
}
# Heads that experiments/heads/singles has, by what `@tuned` stood for.
SINGLES = {
    "lin": "lin",
    "log:p=4": "log",
    "pow:p=2": "pow",
    "pol:alpha=1:p=2": "pol",
    "rbf:gamma=1": "rbf",
    "hpb:ball=tanh": "hpb",
    "wav:a=1:b=1": "wav",
    "sig": "sig",
    "ssg:variance=0.5": "ssg",
    "mog:form=sum:variance=0.5": "mog",
}

# What T1 shows of a kernel until its search is done.
BEFORE = {
    "log": "log:p=4",
    "pow": "pow:p=2",
    "pol": "pol:alpha=1:p=2",
    "rbf": "rbf:gamma=1",
    "ssg": "ssg:pace=0.1",
    "mog": "mog:form=mixture:pace=0.1",
    "hpb": "hpb:ball=tanh",
    "wav": "wav:a=1:b=1",
}


def t1_legacy(head, rate):
    if rate != RATE:
        return ""
    if head in ("lin", "sig"):
        return f"singles/{head}-tuned-1"  # the first two of its ten epochs
    older = {"pol:alpha=1:p=2": "pol:p=2", "ssg:pace=1": "ssg:variance=split"}.get(
        head, head.removesuffix(":pace=1")
    )
    return "search/" + "".join(c if c.isalnum() or c == "." else "-" for c in older)


T1_TUNING = Tuning(
    "T1-search", SEARCH_EPOCHS, LADDERS, RATE, (RATE / 2, RATE, RATE * 2), legacy=t1_legacy
)


def search_run(head, rate):
    return T1_TUNING.run(head, rate)


def t1_row(kernel, head, rate, group=""):
    legacy = f"singles/{SINGLES[head]}-tuned-{{seed}}" if rate == RATE and head in SINGLES else ""
    return Row(
        head + ("" if rate == RATE else f" lr={rate:g}"),
        f"--head {head} {lr(rate)}",
        T1_PAPER.get(kernel),
        group or kernel,
        legacy,
    )


NOT_WARMED_UP = "no warm-up"
# groups of T1, R4-MT and T3-L that no verdict counts
BESIDE = ("lin in disguise", "a rate below", "no scale", NOT_WARMED_UP)
# log and wav, of which a seed does not train at their own rate, and lin to compare with
BELOW = ("log", "wav", "lin")


def t1(best):
    """`best(kernel)` gives the head and the rate that the search found so far."""
    rows = [t1_row(kernel, *best(kernel)) for kernel in LADDERS]
    rows += [
        t1_row(kernel, head, best("lin")[1], BESIDE[0])
        for kernel, head in (("ssg", "ssg:variance=0.5"), ("mog", "mog:form=sum:variance=0.5"))
    ]
    rows += [t1_row(kernel, best(kernel)[0], best(kernel)[1] / 2, BESIDE[1]) for kernel in BELOW]
    return Part(
        "T1",
        "Table 1 of the kernel paper: ten kernels as output layers of a language model",
        10,
        5,
        tuple(rows),
    )


# ---- T2 ----
T2_PAPER = {0.001: (4.74, 46.8), 0.01: (4.98, 46.6), 0.1: (3.67, 47.2), 1: (3.81, 47.4)}


def t2():
    rows = [Row("none", f"--head mos {lr(RATE)}", legacy="presets/mos-{seed}")]
    for kind in ("variance", "cv2"):
        rows += [
            Row(
                f"{kind}:{rho:g}",
                f"--head mos --pi-reg {kind}:{rho:g} {lr(RATE)}",
                T2_PAPER[rho][0],
                kind,
                f"pi/{kind}-{rho:g}",
            )
            for rho in T2_PAPER
        ]
    return Part(
        "T2",
        "Table 2 of the kernel paper: a penalty on the prior's variance",
        3,
        5,
        tuple(rows),
        "validation perplexity",
    )


# ---- margins ----
MARGINS = (0, 0.001, 0.003, 0.01, 0.03)
FIXED_NORMS = "--word-norm const:1 --context-norm const:64"
M1_PAPER = {"arc": (66.9, 68.0, 80.7, 106.1, 170.4), "cos": (66.9, 70.3, 77.7, 108.0, 382.1)}


def m1():
    rows = [
        Row("base", f"--head lin {lr(RATE)}", 53.7, legacy="presets/lin-{seed}"),
        Row("lsm:2", f"--head lin --margin lsm:2 {lr(RATE)}", 390.3),
        # one run for both: arc:0 and cos:0 are no margin
        Row("m=0", f"--head lin {FIXED_NORMS} {lr(RATE)}", 66.9),
    ]
    for m, arc, cos in list(zip(MARGINS, M1_PAPER["arc"], M1_PAPER["cos"]))[1:]:
        rows += [
            Row(
                f"{kind}:{m:g}",
                f"--head lin --margin {kind}:{m:g} {FIXED_NORMS} {lr(RATE)}",
                paper,
                kind,
            )
            for kind, paper in (("cos", cos), ("arc", arc))
        ]
    return Part(
        "M1", "Table 1 of the margin paper: margins between normed vectors", 5, 5, tuple(rows)
    )


M2_WORDS = ("none", "uniform", "log-rank", "unigram", "log-unigram")
M2_TUNING = Tuning(
    "M2-search",
    SEARCH_EPOCHS,
    {"unigram": (("unigram:1,{}", (1, 2, 4), 2),)},
    RATE,
    options="--head lin --word-norm {} --lr {:g}",
)
M2_PAPER = {"none": (53.7, 56.8, 56.8, 56.0, 53.8), "max": (52.9, 56.4, 57.4, 54.6, 53.1)}


def m2(unigram):
    """`unigram` is the search's `unigram:A,B`."""
    rows = []
    for context, papers in M2_PAPER.items():
        for word, paper in zip(M2_WORDS, papers):
            word = unigram if word == "unigram" else word
            options = " ".join(
                [f"--word-norm {word}"] * (word != "none")
                + [f"--context-norm {context}"] * (context != "none")
            )
            rows.append(
                Row(
                    f"{word}, contexts {context}",
                    f"--head lin {options} {lr(RATE)}",
                    paper,
                    context,
                    "presets/lin-{seed}" if not options else "",
                )
            )
    return Part("M2", "Table 2 of the margin paper: norms of words and contexts", 5, 5, tuple(rows))


# the paper's two columns, very probably in this order
M3_PAPER = {"arc": (54.2, 55.5, 57.7, 60.0), "cos": (54.1, 55.9, 58.4, 60.9)}


def m3():
    rows = [Row("base", f"--head lin {lr(RATE)}", 53.7, legacy="presets/lin-{seed}")]
    for i, m in enumerate((0.001, 0.003, 0.006, 0.01)):
        rows += [
            Row(
                f"{kind}:{m:g}",
                f"--head lin --context-norm max --margin {kind}:{m:g} {lr(RATE)}",
                M3_PAPER[kind][i],
                kind,
            )
            for kind in ("arc", "cos")
        ]
    return Part("M3", "Table 3 of the margin paper: small margins", 5, 5, tuple(rows))


# ---- mixtures: the paper's presets with the kernels that T1's search chose ----
PRESETS = {
    "mos": (47.8, "9*lin"),
    "mixbig": (47.1, "lin,log,pow,pol,rbf,ssg,mog,hpb,wav"),
    "mix1": (46.6, "lin,log,rbf,hpb,wav"),
    "mix2": (46.5, "3*lin,log"),
    "mix3": (47.3, "lin,log,pow,pol"),
    "mix4": (47.1, "lin,log,rbf,hpb"),
    "mix5": (46.7, "2*lin,2*rbf"),
}


def mixture(components, best):
    """A preset's head with each kernel as `best` has it."""
    chosen = []
    for part in components.split(","):
        count, _, kernel = part.rpartition("*")
        chosen.append((count + "*" if count else "") + best(kernel)[0])
    return "mix:" + ",".join(chosen)


def single(rate):
    """Lin, and lin as a mixture has it: with a map of its context."""
    return Row("lin", f"--head lin {rate}", 46.8), Row("mix:1*lin", f"--head mix:1*lin {rate}")


def presets(names, best, rate):
    for name in names:
        for untied in ("", " --untied"):
            yield Row(
                name + untied.replace(" --", ", "),
                f"--head {mixture(PRESETS[name][1], best)}{untied} --pi-reg variance:0.1 {rate}",
                None if untied else PRESETS[name][0],
                "mixture",
            )


def t3(best):
    rate = lr(best("lin")[1]) + WARMUP
    rows = [
        *single(rate),
        Row("lin as large as four components", f"--head lin --embed 320 {rate}"),
        Row("lin as large as nine components", f"--head lin --embed 399 {rate}"),
    ]
    rows += presets(PRESETS, best, rate)
    return Part(
        "T3",
        "Table 3 of the kernel paper: mixtures beside lin",
        10,
        5,
        tuple(rows),
        setup="S, medium",
    )


def t3b(best):
    rate = lr(best("lin")[1]) + WARMUP
    rows = [Row("lin", f"--head lin {rate}", 46.8)]
    rows += [
        Row(label, f"--head {head} --pi-reg variance:0.1 {rate}", None, "mixture")
        for label, head in (
            ("log and hpb", mixture("log,hpb", best)),
            ("pow:p=1 and pol:p=3", "mix:pow:p=1,pol:p=3"),
            ("pow:p=1 and ssg", mixture("ssg", best).replace("mix:", "mix:pow:p=1,")),
        )
    ]
    return Part("T3b", "Mixtures without lin", 10, 5, tuple(rows), setup="S, medium")


# Kernels whose search comes before a part's runs.
EVERY = tuple(LADDERS)
CHOICES = {
    "T1": EVERY,
    "R4": EVERY,
    "T3": EVERY,
    "R5": EVERY,
    "D-S": EVERY,
    "D-S-content": EVERY,
    "R7": ("lin", "log", "pol"),
    "R1-warmup": ("lin", "log", "wav"),
    "Precision-kernels": ("log", "rbf", "hpb", "wav"),
    "T3b": ("lin", "log", "hpb", "ssg"),
    "T3-L": ("lin", "log"),
    "T1-L": ("lin", "pow", "log", "rbf", "ssg", "hpb"),
    "D": tuple(kernel for kernel in LADDERS if kernel != "sig"),
}


# ---- MoS ----
REGULARISED = "--ar 2 --tar 1 --optimizer asgd --asgd-trigger 2 --clip 0.25"
MOS_TUNING = Tuning(
    "MoS-search",
    5,
    {"lin": (), "mos": ()},
    10,
    (5, 10, 20),
    f"--head {{}} {REGULARISED} --lr {{:g}}",
    "S, medium",
)


def mos(chosen):
    rows = [
        row
        for head in ("lin", "mos")
        for row in (
            Row(head, f"--head {head} {lr(RATE)}"),
            Row(
                f"{head}, AR + TAR + ASGD",
                f"--head {head} {REGULARISED} {lr(chosen(MOS_TUNING, head)[1])}",
                group="regularised",
            ),
        )
    ]
    return Part(
        "MoS",
        "Does a mixture of softmaxes need regularisation?",
        15,
        5,
        tuple(rows),
        setup="S, medium",
    )


# ---- R3 and R3-warmup: each head at each width, at a learning rate of its own ----
WIDTHS = (8, 16, 32, 64, 128)


class Bottleneck(typing.NamedTuple):
    title: str
    heads: tuple
    epochs: int
    seeds: int
    options: str = ""
    # {width: embeddings with which lin has as many parameters as untied mos}; they do not raise its
    # rank
    larger: dict = {}
    # the row that continues the text on which all ranks of a seed are measured; else each its own
    text: str | None = None

    def models(self):
        """{(head, width): --head's value and more}"""
        found = {
            (head, width): f"{head} --hidden {width} --embed {width}"
            for head in self.heads
            for width in WIDTHS
        }
        return found | {
            ("lin as large as untied mos", width): f"lin --hidden {width} --embed {embed}"
            for width, embed in self.larger.items()
        }


BOTTLENECKS = {
    "R3": Bottleneck(
        "Where does the softmax bottleneck bind?",
        ("lin", "pol:p=2", "sig", "log:p=4", "mix2", "mix2 --untied", "mos", "mos --untied"),
        10,
        3,
    ),
    "R3-warmup": Bottleneck(
        "Where does the softmax bottleneck bind, from the unigram and warmed up?",
        ("lin", "pol:p=2", "mos --untied"),
        20,
        5,
        # an epoch of the grammar has 190 or 191 updates
        " --init-bias log-frequency --warmup 191",
        {8: 71, 16: 139},
        "lin, width 128",
    ),
}
BOTTLENECK_TUNING = {
    part: Tuning(
        f"{part}-search",
        b.epochs,
        dict.fromkeys(b.models().values(), ()),
        0.016,
        (0.008, 0.016, 0.032),
        "--head {} --lr {:g}" + b.options,
        "grammar",
    )
    for part, b in BOTTLENECKS.items()
}

# ---- R6: kernels that T1, R1-warmup and R1 have ahead of lin, each with a rate and dropout ----
INNER, OUTER = (
    "--dropout {0} --dropout-hidden {0}",
    "--dropout {0} --dropout-hidden {0} --dropout-output {0}",
)
AHEAD = {
    "lin": ("lin", (0.004, 0.008), (INNER, OUTER)),
    "pol": ("pol:alpha=2:p=2", (0.004, 0.008), (INNER, OUTER)),
    "log": ("log:p=8", (0.004, 0.008), (INNER + WARMUP,)),
    "rbf": ("rbf:scale=10", (0.002, 0.004), (INNER + WARMUP,)),
}
AHEAD_TUNING = Tuning(
    "R6-search",
    10,
    {
        name: tuple(
            (f"{head} {lr(rate)} {kind}", (0.1, 0.2, 0.3, 0.4), 1.25)
            for kind in kinds
            for rate in rates
        )
        for name, (head, rates, kinds) in AHEAD.items()
    },
    RATE,
    options="--head {}",
    setup="S, medium",
)

# ---- T3-L and D: rates on whole captions, with a seed that no row has ----
# lin's rate is its own and `mix:1*lin`'s, mos' is all other mixtures'
WHOLE_TUNING = Tuning(
    "T3-L-search",
    3,
    {"lin": (), "mix:9*lin --pi-reg variance:0.1": ()},
    0.002,
    (0.001, 0.002, 0.004),
    "--head {} --lr {:g}" + WARMUP,
    "L, medium",
    seed=4,
)

# Of searches other than T1's that another part has.
OTHER_CHOICES = {
    "R7": (("lin", AHEAD_TUNING),),
    "D": tuple((head, WHOLE_TUNING) for head in WHOLE_TUNING.ladders),
}

# ---- T1-MT: after a layer norm a context has a squared norm of 128: other ladders ----
MT_LADDERS = LADDERS | {
    "log": (("log:p={}", (4, 8, 16), 2),),
    "pow": (("pow:p={}", (1, 2, 3), 1.5),),
    "pol": (("pol:alpha={}:p=2", (0.25, 0.5, 1), 2),),
    "rbf": (("rbf:gamma={}", (0.0005, 0.005, 0.05), 10),),
    "wav": (("wav:a={0}:b={0}", (20, 200, 2000), 10), ("wav:a=20:b={}", (20, 200), 10)),
}
MT_RATE, MT_BIAS = 0.003, {"": "", ", bias": " --head-bias --init-bias log-frequency"}
# without a bias decided by their floor, so not searched: R4-MT's runs
MT_BOUNDED = {"rbf": "rbf:gamma=0.005", "wav": "wav:a=200:b=200"}


def mt_tuning(bias, kernels):
    """Its warm-up is as long a part of three epochs as 500 updates are of six."""
    return Tuning(
        f"T1-MT-search{bias.replace(', ', '-')}",
        3,
        {kernel: MT_LADDERS[kernel] for kernel in kernels},
        MT_RATE,
        (MT_RATE / 2, MT_RATE, MT_RATE * 2),
        "--head {} --lr {:g} --warmup 250" + MT_BIAS[bias],
        "pairs, medium",
    )


# else a row with a bias has the other's choice
MT_TUNING = {
    "": mt_tuning("", [kernel for kernel in LADDERS if kernel not in MT_BOUNDED]),
    ", bias": mt_tuning(", bias", MT_BOUNDED),
}
MT_UNTUNED = {"log": "log:p=4", "hpb": "hpb:ball=tanh", "rbf": "rbf:gamma=1", "wav": "wav:a=1:b=1"}
MT_PAPER = {
    "lin": 34.3,
    "log": 0.4,
    "pow": 32.8,
    "pol": 31.7,
    "rbf": 0.0,
    "ssg": 34.6,
    "mog": 34.2,
    "hpb": 0.3,
    "wav": 0.0,
}


def t1_mt(chosen, measure=None):
    """`chosen(tuning, kernel)` gives the head and the rate that the search found so far."""
    rows = []
    for bias, options in MT_BIAS.items():
        for kernel in LADDERS:
            if kernel in MT_BOUNDED and not bias:
                head, rate = MT_BOUNDED[kernel], MT_RATE
            else:
                head, rate = chosen(MT_TUNING[bias if kernel in MT_BOUNDED else ""], kernel)
            rows.append(
                Row(
                    f"{kernel}{bias}",
                    f"--head {head}{options} {lr(rate)}",
                    None if bias else MT_PAPER.get(kernel),
                    "tuned" + bias,
                )
            )
    rows += [
        Row(f"{kernel}, untuned", f"--head {head} {lr(MT_RATE)}", MT_PAPER[kernel], "untuned")
        for kernel, head in MT_UNTUNED.items()
    ]
    part = Part(
        "T1-MT",
        "Table 1 of the kernel paper, BLEU: ten kernels in translation",
        6,
        3,
        tuple(rows),
        "test BLEU",
        "pairs, medium",
        note=(
            "Without a bias a score in [m, 1] cannot get below a perplexity of 1 + (V - 1) e^(m -"
            " 1), 3,573 for rbf: those rows of rbf and wav are decided by that floor, not by tuning"
            " ([heads](../heads.md#bounds)), and are not searched. With a bias rbf and wav are; the"
            " others have their choice without one."
        ),
    )
    return measured(part, measure)


def measured(part, measure, beside=None, labels=None):
    """The part with `measure` of each of its runs, or of those of the rows `labels`; it has the run
    of the row `beside` with the same seed too, last."""
    if not measure:
        return part
    made = []
    for seed in range(1, part.seeds + 1):
        more = [part.run(part.row(beside), seed)] if beside else []
        made += [
            Measure(part.name, run.row.label, run.seed, tuple(dict.fromkeys((run, *more))), measure)
            for run in part.runs(seed)
            if labels is None or run.row.label in labels
        ]
    return dataclasses.replace(part, measures=tuple(made))


# ---- M5: rescoring ----
RESCORED = {"max": "", "arc:0.001": "--margin arc:0.001 ", "cos:0.001": "--margin cos:0.001 "}
M5_MARGIN = 0.39  # points of word error rate, docs/results/rules.md


def m5(measure=None):
    rows = tuple(
        Row(label, f"--head lin --context-norm max {margin}{lr(RATE)}", paper)
        for (label, margin), paper in zip(RESCORED.items(), (52.9, 54.2, 54.1))
    )
    return measured(
        Part(
            "M5",
            "Table 5 of the margin paper: word error rates of rescored lists",
            3,
            3,
            rows,
            setup="spoken",
        ),
        measure,
        "max",
    )


# ---- SS ----
SS_TUNING = Tuning(
    "SS-search",
    2,
    {"lin": (), "lin --sampled-softmax 2048": ()},
    0.001,
    (0.0005, 0.001, 0.002),
    "--head {} --lr {:g} --warmup 300",
    "zipf",
)


def ss(chosen, measure=None):
    """The sampled rows have the rate of 2,048 samples. `measure` is of the generated language's
    models."""
    (_, full), (_, sampled) = (chosen(SS_TUNING, head) for head in SS_TUNING.ladders)
    rows = [Row("full, 128,000 words", f"--head lin {lr(full)} --warmup 300")]
    rows += [
        Row(
            f"{k:,} of 128,000",
            f"--head lin --sampled-softmax {k} {lr(sampled)} --warmup 300",
            group="sampled",
        )
        for k in (512, 2048, 8192)
    ]
    rows += [Row("full, captions", f"--head lin {lr(RATE)}", setup="S")]
    rows += [
        Row(f"{k:,}, captions", f"--head lin --sampled-softmax {k} {lr(RATE)}", setup="S")
        for k in (128, 512, 2048)
    ]
    part = Part(
        "SS",
        "A sampled softmax beside the full one",
        3,
        3,
        tuple(rows),
        setup="zipf",
        fresh=1,
        note=(
            "The generated language is `experiments/driver/zipf.py`'s; the records of its runs have"
            " the test text's exact perplexity as `floor`, that by word frequencies as `unigram`."
        ),
    )
    return measured(part, measure, labels=[row.label for row in rows if not row.setup])


# ---- whole captions ----
def t1_l(best):
    heads = [
        (k, "pow:p=1" if k == "pow" else best(k)[0])
        for k in ("lin", "pow", "log", "rbf", "ssg", "hpb")
    ]
    # the paper's pow has p = 2
    rows = tuple(
        Row(head, f"--head {head} {lr(best(k)[1])}{WARMUP}", None if k == "pow" else T1_PAPER[k], k)
        for k, head in heads
    )
    return Part(
        "T1-L", "Table 1 of the kernel paper on all captions", 3, 3, rows, setup="L, medium"
    )


def whole_rates(chosen):
    """Options of lin's rate and of mixtures'."""
    return (lr(chosen(WHOLE_TUNING, head)[1]) + WARMUP for head in WHOLE_TUNING.ladders)


def t3_l(best, chosen):
    rate, mixed = whole_rates(chosen)
    rows = (
        *single(rate),
        *presets(("mix2", "mos"), best, mixed),
        Row("lin, no warm-up", f"--head lin {lr(best('lin')[1])}", 46.8, NOT_WARMED_UP, seeds=1),
    )
    return Part(
        "T3-L", "Table 3 of the kernel paper on all captions", 3, 3, rows, setup="L, medium"
    )


def m_l():
    rows = [
        Row("base", f"--head lin {lr(RATE)}", 53.7),
        Row("max", f"--head lin --context-norm max {lr(RATE)}", 52.9),
        Row(
            "max, log-unigram",
            f"--head lin --context-norm max --word-norm log-unigram {lr(RATE)}",
            53.1,
        ),
    ]
    rows += [
        Row(
            f"{kind}:0.001",
            f"--head lin --context-norm max --margin {kind}:0.001 {lr(RATE)}",
            paper,
            kind,
        )
        for kind, paper in (("arc", 54.2), ("cos", 54.1))
    ]
    return Part(
        "M-L",
        "Tables 2 and 3 of the margin paper on all captions",
        3,
        3,
        tuple(rows),
        setup="L, medium",
    )


def d(best, chosen, measure=None):
    _, mixed = whole_rates(chosen)
    rows = tuple(presets(("mixbig",), best, mixed))
    part, others = Part(
        "D",
        "Which word of a set of close ones?",
        3,
        3,
        rows,
        setup="L, medium",
        note="All but mixbig are T3-L's models.",
    ), t3_l(best, chosen)
    lin = others.run(others.row("lin"), 1)  # which words are close
    rows = [
        (owner, row) for owner in (others, part) for row in owner.rows if row.group not in BESIDE
    ]
    made = [
        Measure("D", row.label, seed, (owner.run(row, seed), lin), measure, 0.02)
        for seed in range(1, 4)
        for owner, row in rows
    ]
    return dataclasses.replace(part, measures=tuple(made))
