"""What each part that follows the papers trains: rows (a label, options, the paper's figure) times
seeds, and the searches that choose options. parts.csv has titles and lengths, beyond.py the other
parts. docs/results/rules.md says what decides a part."""
import dataclasses
import typing

from .setups import MEDIUM, Measure, Row, Run, Tuning, shaped  # noqa: F401

SEARCH_EPOCHS, RATE = 2, 0.002
# an epoch of S: without it some seeds of rbf, wav and log stay at the unigram (docs/results/T1.md)
WARMUP = " --warmup 175"


def lr(value):
    return f"--lr {value:g}"


def trained(label, head, rate=RATE, paper=None, group="", more="", **others):
    """The row of a head, which may have options after it, at a rate."""
    return Row(label, f"--head {head} {lr(rate)}{more}", paper, group, **others)


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
    "mog": tuple((f"mog:form={f}:pace={{}}", (0.01, 0.1, 1), 10) for f in ("sum", "mixture")),
    "hpb": tuple((f"hpb:ball={ball}", (), 0) for ball in ("lorentz", "tanh", "clip", "sigmoid")),
    "wav": (("wav:a={0}:b={0}", (1, 10, 100), 10), ("wav:a=1:b={}", (1, 10), 10)),
    "sig": (),
}
# the paper's, in the ladders' order; it has no sig
T1_PAPER = dict(zip(LADDERS, (46.8, 103.0, 46.8, 47.3, 284.9, 49.9, 46.7, 122.6, 289.7)))
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
# Heads that experiments/heads/singles has, by what `@tuned` stood for.
SINGLES = {
    "lin": "lin",
    **{BEFORE[k]: k for k in ("log", "pow", "pol", "rbf", "hpb", "wav")},
    "sig": "sig",
    "ssg:variance=0.5": "ssg",
    "mog:form=sum:variance=0.5": "mog",
}


def t1_legacy(head, rate):
    if rate != RATE:
        return ""
    if head in ("lin", "sig"):
        return f"singles/{head}-tuned-1"  # the first two of its ten epochs
    older = {"pol:alpha=1:p=2": "pol:p=2", "ssg:pace=1": "ssg:variance=split"}
    name = older.get(head, head.removesuffix(":pace=1"))
    return "search/" + "".join(c if c.isalnum() or c == "." else "-" for c in name)


T1_TUNING = Tuning(
    "T1-search", SEARCH_EPOCHS, LADDERS, RATE, (RATE / 2, RATE, RATE * 2), legacy=t1_legacy
)


def search_run(head, rate):
    return T1_TUNING.run(head, rate)


def t1_row(kernel, head, rate, group=""):
    label = head + ("" if rate == RATE else f" lr={rate:g}")
    legacy = f"singles/{SINGLES[head]}-tuned-{{seed}}" if rate == RATE and head in SINGLES else ""
    return trained(label, head, rate, T1_PAPER.get(kernel), group or kernel, legacy=legacy)


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
    return shaped("T1", rows)


# ---- T2 ----
T2_PAPER = {0.001: (4.74, 46.8), 0.01: (4.98, 46.6), 0.1: (3.67, 47.2), 1: (3.81, 47.4)}


def t2():
    rows = [trained("none", "mos", legacy="presets/mos-{seed}")]
    for kind in ("variance", "cv2"):
        for rho, (paper, _) in T2_PAPER.items():
            label, legacy = f"{kind}:{rho:g}", f"pi/{kind}-{rho:g}"
            rows.append(
                trained(label, f"mos --pi-reg {label}", paper=paper, group=kind, legacy=legacy)
            )
    return shaped("T2", rows)


# ---- margins ----
MARGINS = (0, 0.001, 0.003, 0.01, 0.03)
FIXED_NORMS = "--word-norm const:1 --context-norm const:64"
M1_PAPER = {"arc": (66.9, 68.0, 80.7, 106.1, 170.4), "cos": (66.9, 70.3, 77.7, 108.0, 382.1)}
BASE = trained("base", "lin", paper=53.7, legacy="presets/lin-{seed}")


def m1():
    rows = [
        BASE,
        trained("lsm:2", "lin --margin lsm:2", paper=390.3),
        # one run for both: arc:0 and cos:0 are no margin
        trained("m=0", f"lin {FIXED_NORMS}", paper=66.9),
    ]
    for i, m in list(enumerate(MARGINS))[1:]:
        for kind in ("cos", "arc"):
            head = f"lin --margin {kind}:{m:g} {FIXED_NORMS}"
            rows.append(trained(f"{kind}:{m:g}", head, paper=M1_PAPER[kind][i], group=kind))
    return shaped("M1", rows)


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
            options = [f"--word-norm {word}"] * (word != "none")
            options += [f"--context-norm {context}"] * (context != "none")
            label, legacy = f"{word}, contexts {context}", "" if options else BASE.legacy
            # a base without norms has a space more, as its records have
            head = f"lin {' '.join(options)}"
            rows.append(trained(label, head, paper=paper, group=context, legacy=legacy))
    return shaped("M2", rows)


M3_MARGINS = (0.001, 0.003, 0.006, 0.01)
# which column is which its Table 5 says
M3_PAPER = {"arc": (54.2, 55.5, 57.7, 60.0), "cos": (54.1, 55.9, 58.4, 60.9)}


def m3():
    rows = [BASE]
    for i, m in enumerate(M3_MARGINS):
        for kind in ("arc", "cos"):
            head = f"lin --context-norm max --margin {kind}:{m:g}"
            rows.append(trained(f"{kind}:{m:g}", head, paper=M3_PAPER[kind][i], group=kind))
    return shaped("M3", rows)


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
    lin = trained("lin", "lin", rate, T1_PAPER["lin"], more=WARMUP)
    return lin, trained("mix:1*lin", "mix:1*lin", rate, more=WARMUP)


def mixed(label, head, rate, paper=None):
    return trained(label, f"{head} --pi-reg variance:0.1", rate, paper, "mixture", WARMUP)


def presets(names, best, rate):
    for name in names:
        paper, components = PRESETS[name]
        head = mixture(components, best)
        yield mixed(name, head, rate, paper)
        yield mixed(f"{name}, untied", f"{head} --untied", rate)


def t3(best):
    _, rate = best("lin")
    rows = [*single(rate)]
    for number, embed in (("four", 320), ("nine", 399)):
        label = f"lin as large as {number} components"
        rows.append(trained(label, f"lin --embed {embed}", rate, more=WARMUP))
    return shaped("T3", [*rows, *presets(PRESETS, best, rate)])


def t3b(best):
    _, rate = best("lin")
    heads = {
        "log and hpb": mixture("log,hpb", best),
        "pow:p=1 and pol:p=3": "mix:pow:p=1,pol:p=3",
        "pow:p=1 and ssg": mixture("ssg", best).replace("mix:", "mix:pow:p=1,"),
    }
    return shaped("T3b", [single(rate)[0], *(mixed(k, head, rate) for k, head in heads.items())])


# Kernels whose search comes before a part's runs.
EVERY = tuple(LADDERS)
CHOICES = {
    **dict.fromkeys(("T1", "R4", "T3", "R5", "D-S", "D-S-content"), EVERY),
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
    rows = []
    for head in ("lin", "mos"):
        label, rate = f"{head}, AR + TAR + ASGD", chosen(MOS_TUNING, head)[1]
        rows.append(trained(head, head))
        rows.append(trained(label, f"{head} {REGULARISED}", rate, group="regularised"))
    return shaped("MoS", rows)


# ---- R3 and R3-warmup: each head at each width, at a learning rate of its own ----
WIDTHS = (8, 16, 32, 64, 128)


class Bottleneck(typing.NamedTuple):
    heads: tuple
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


HEADS = ("lin", "pol:p=2", "sig", "log:p=4", "mix2", "mix2 --untied", "mos", "mos --untied")
BOTTLENECKS = {
    "R3": Bottleneck(HEADS),
    "R3-warmup": Bottleneck(
        ("lin", "pol:p=2", "mos --untied"),
        # an epoch of the grammar has 190 or 191 updates
        " --init-bias log-frequency --warmup 191",
        {8: 71, 16: 139},
        "lin, width 128",
    ),
}
BOTTLENECK_TUNING = {
    part: Tuning(
        f"{part}-search",
        shaped(part).epochs,
        dict.fromkeys(b.models().values(), ()),
        0.016,
        (0.008, 0.016, 0.032),
        "--head {} --lr {:g}" + b.options,
        "grammar",
    )
    for part, b in BOTTLENECKS.items()
}

# ---- R6: kernels that T1, R1-warmup and R1 have ahead of lin, each with a rate and dropout ----
INNER = "--dropout {0} --dropout-hidden {0}"
OUTER = INNER + " --dropout-output {0}"
AHEAD = {
    "lin": ("lin", (0.004, 0.008), (INNER, OUTER)),
    "pol": ("pol:alpha=2:p=2", (0.004, 0.008), (INNER, OUTER)),
    "log": ("log:p=8", (0.004, 0.008), (INNER + WARMUP,)),
    "rbf": ("rbf:scale=10", (0.002, 0.004), (INNER + WARMUP,)),
}
DROPOUTS = (0.1, 0.2, 0.3, 0.4)
AHEAD_TUNING = Tuning(
    "R6-search",
    10,
    {
        k: tuple((f"{head} {lr(rate)} {x}", DROPOUTS, 1.25) for x in kinds for rate in rates)
        for k, (head, rates, kinds) in AHEAD.items()
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
MT_UNTUNED = {k: BEFORE[k] for k in ("log", "hpb", "rbf", "wav")}
MT_PAPER = dict(zip(LADDERS, (34.3, 0.4, 32.8, 31.7, 0.0, 34.6, 34.2, 0.3, 0.0)))
# of Precision-MT, whose runs it has: better on the development text than the search's choice
MT_BASE = trained(
    "lin, rate 0.003", f"lin {MEDIUM}", MT_RATE, MT_PAPER["lin"], "the better lin", setup="pairs"
)


def t1_mt(chosen, measure=None):
    """`chosen(tuning, kernel)` gives the head and the rate that the search found so far."""
    rows = [MT_BASE]
    for bias, options in MT_BIAS.items():
        for kernel in LADDERS:
            if kernel in MT_BOUNDED and not bias:
                head, rate = MT_BOUNDED[kernel], MT_RATE
            else:
                head, rate = chosen(MT_TUNING[bias if kernel in MT_BOUNDED else ""], kernel)
            paper = None if bias else MT_PAPER.get(kernel)
            rows.append(trained(kernel + bias, head + options, rate, paper, f"tuned{bias}"))
    for k, head in MT_UNTUNED.items():
        rows.append(trained(f"{k}, untuned", head, MT_RATE, MT_PAPER[k], "untuned"))
    note = (
        "Without a bias a score in [m, 1] cannot get below a perplexity of 1 + (V - 1) e^(m -"
        " 1), 3,573 for rbf ([heads](../heads.md#bounds)). This floor decides those rows of rbf and"
        " wav, not tuning, so they are not searched. With a bias rbf and wav are searched; the"
        " other kernels keep their choice without a bias."
    )
    return measured(shaped("T1-MT", rows, note=note), measure)


def measured(part, measure, beside=None, labels=None, cost=0.2):
    """The part with `measure` of each of its runs, or of those of the rows `labels`; it has the run
    of the row `beside` with the same seed too, last."""
    if not measure:
        return part
    made = []
    for seed in range(1, part.seeds + 1):
        more = [part.run(part.row(beside), seed)] if beside else []
        made += [
            Measure(
                *(part.name, run.row.label, run.seed),
                *(tuple(dict.fromkeys((run, *more))), measure, cost),
            )
            for run in part.runs(seed)
            if labels is None or run.row.label in labels
        ]
    return dataclasses.replace(part, measures=tuple(made))


# ---- M5: rescoring ----
MAX = trained("max", "lin --context-norm max", paper=M2_PAPER["max"][0])
M5_MARGIN = 0.39  # points of word error rate, docs/results/rules.md


def small_margins(rate=RATE, more=""):
    """Rows of a margin of .001 with largest-norm contexts."""
    for kind, papers in M3_PAPER.items():
        head = f"lin --context-norm max --margin {kind}:0.001"
        yield trained(f"{kind}:0.001", head, rate, papers[0], kind, more)


def m5(measure=None):
    return measured(shaped("M5", [MAX, *small_margins()]), measure, "max")


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
    (_, full), (_, rate) = (chosen(SS_TUNING, head) for head in SS_TUNING.ladders)
    warm = " --warmup 300"
    rows = [trained("full, 128,000 words", "lin", full, more=warm)]
    for k in (512, 2048, 8192):
        head, group = f"lin --sampled-softmax {k}", "sampled"
        rows.append(trained(f"{k:,} of 128,000", head, rate, group=group, more=warm))
    of_language = [row.label for row in rows]
    rows.append(trained("full, captions", "lin", setup="S"))
    for k in (128, 512, 2048):
        rows.append(trained(f"{k:,}, captions", f"lin --sampled-softmax {k}", setup="S"))
    note = (
        "`experiments/driver/zipf.py` generates the language. The records of its runs have two"
        " perplexities of the test text: the exact one as `floor`, and that by word frequencies as"
        " `unigram`."
    )
    return measured(shaped("SS", rows, note=note), measure, labels=of_language)


# ---- whole captions ----
def t1_l(best):
    rows = []
    for k in CHOICES["T1-L"]:
        head, rate = best(k)
        if k == "pow":  # the paper's has p = 2
            rows.append(trained("pow:p=1", "pow:p=1", rate, None, k, WARMUP))
        else:
            rows.append(trained(head, head, rate, T1_PAPER[k], k, WARMUP))
    return shaped("T1-L", rows)


def whole_rates(chosen):
    """Lin's rate and mixtures'."""
    return (chosen(WHOLE_TUNING, head)[1] for head in WHOLE_TUNING.ladders)


def t3_l(best, chosen):
    rate, others = whole_rates(chosen)
    label, paper = f"lin, {NOT_WARMED_UP}", T1_PAPER["lin"]
    cold = trained(label, "lin", best("lin")[1], paper, NOT_WARMED_UP, seeds=1)
    return shaped("T3-L", [*single(rate), *presets(("mix2", "mos"), best, others), cold])


def m_l():
    norms, paper = "lin --context-norm max --word-norm log-unigram", M2_PAPER["max"][-1]
    rows = [
        trained("base", "lin", paper=53.7),
        MAX,
        trained("max, log-unigram", norms, paper=paper),
    ]
    return shaped("M-L", [*rows, *small_margins()])


def d(best, chosen, measure=None):
    _, rate = whole_rates(chosen)
    part = shaped("D", presets(("mixbig",), best, rate), note="All but mixbig are T3-L's models.")
    others = t3_l(best, chosen)
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
