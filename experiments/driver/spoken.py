"""What the parts on spoken English train, with the papers' network and nearly their texts: T1-SWB,
M-SWB and T3-SWB on Switchboard, T1-SC and T1-SC-whole on scotus. docs/results/rules.md says what
decides them; beyond.py has Precision-SWB."""
from . import parts
from .parts import RATE, WARMUP, trained
from .setups import Tuning, shaped
from .tuned import DROPPED, MAP, MIXED

RATES = (RATE / 2, RATE, RATE * 2)
OPTIONS = "--head {} --lr {:g}" + WARMUP
# what T1's search chose on S
CHOSEN = {
    "lin": "lin",
    "log": "log:p=8",
    "pow": "pow:p=2",
    "pol": "pol:alpha=2:p=2",
    "rbf": "rbf:gamma=1",
    "ssg": "ssg:pace=0.1",
    "mog": "mog:form=sum:pace=0.01",
    "hpb": "hpb:ball=tanh",
    "wav": "wav:a=1:b=10000",
    "sig": "sig",
}


def as_given(*heads):
    """Ladders of rows whose heads are not searched."""
    return {k: ((head, (), 0),) for k, head in dict(heads).items()}


def on_whole(name, ladders):
    """A search on all of Switchboard with as many epochs as the rows have, so that a choice's run is
    the row's first seed."""
    return Tuning(name, shaped("T1-SWB").epochs, ladders, RATE, RATES, OPTIONS, "switchboard")


def scored(part, measure):
    """The part with each run's nats of the test text, which is small beside the training text."""
    return parts.measured(part, measure, cost=0.01)


# ---- T1-SWB: kernels on a fifth of the text, from T1's choices on; rates on all of it ----
LADDERS = {
    "lin": (),
    "log": (("log:p={}", (4, 8, 16), 2),),
    "pow": (("pow:p={}", (1, 2, 3), 1.5),),
    "pol": (("pol:alpha={}:p=2", (1, 2, 4), 2),),
    "rbf": (("rbf:gamma={}", (0.1, 1, 10), 10),),
    "ssg": (("ssg:pace={}", (0.01, 0.1, 1), 10),),
    "mog": (("mog:form=sum:pace={}", (0.001, 0.01, 0.1), 10),),
    "hpb": tuple((f"hpb:ball={ball}", (), 0) for ball in ("tanh", "lorentz")),
    "wav": (("wav:a=1:b={}", (100, 1000, 10000), 10),),
    "sig": (),
}
T1_TUNING = Tuning(
    "T1-SWB-search",
    3,
    LADDERS,
    RATE,
    RATES,
    OPTIONS,
    "switchboard, a fifth",
    rates_on=("switchboard", shaped("T1-SWB").epochs),
)
DROPOUT_TUNING = on_whole(
    "T1-SWB-dropout-search", {DROPPED: ((f"lin {parts.OUTER}", (0.1, 0.2, 0.4), 2),)}
)


def row(chosen, tuning, label, paper=None, **others):
    """The row of what a search chose."""
    head, rate = chosen(tuning, label)
    return trained(label, head, rate, paper, label, WARMUP, **others)


def baselines(chosen, paper=parts.T1_PAPER["lin"]):
    """T1-SWB's lin, and lin with dropout in three places."""
    return [row(chosen, T1_TUNING, "lin", paper), row(chosen, DROPOUT_TUNING, DROPPED)]


def t1_swb(chosen, measure=None):
    lin, *others = LADDERS
    rows = baselines(chosen)
    rows += [row(chosen, T1_TUNING, k, parts.T1_PAPER.get(k)) for k in others]
    return scored(shaped("T1-SWB", rows), measure)


# ---- M-SWB ----
NORM_TUNING = on_whole("M-SWB-search", as_given(("max", "lin --context-norm max")))


def m_swb(chosen, measure=None):
    """Margins have the rate of largest-norm contexts."""
    _, rate = chosen(NORM_TUNING, "max")
    rows = [*baselines(chosen, parts.BASE.paper)]
    rows.append(row(chosen, NORM_TUNING, "max", parts.MAX.paper))
    rows += parts.small_margins(rate, WARMUP)
    note = "The runs of `lin` and of `lin, dropout` are T1-SWB's."
    return scored(shaped("M-SWB", rows, note=note), measure)


# ---- T3-SWB ----
MIXTURE_TUNING = on_whole("T3-SWB-search", as_given(("lin, map", MAP), ("mix2", MIXED["mix2"])))


def t3_swb(chosen, measure=None):
    """mos has mix2's rate."""
    _, rate = chosen(MIXTURE_TUNING, "mix2")
    papers = {name: parts.PRESETS[name][0] for name in ("mix2", "mos")}
    rows = [row(chosen, T1_TUNING, "lin", parts.T1_PAPER["lin"])]
    rows.append(row(chosen, MIXTURE_TUNING, "lin, map"))
    rows.append(row(chosen, MIXTURE_TUNING, "mix2", papers["mix2"]))
    rows.append(trained("mos", MIXED["mos"], rate, papers["mos"], "mos", WARMUP))
    note = "The runs of `lin` are T1-SWB's."
    return scored(shaped("T3-SWB", rows, note=note), measure)


# ---- T1-SC and T1-SC-whole: one pass, rates on a tenth of the text ----
FEW = {"lin": "lin", "lin, map": MAP, **{k: CHOSEN[k] for k in ("log", "pol")}}
MORE = {k: CHOSEN[k] for k in ("ssg", "rbf", "hpb", "wav")}
MORE |= {k: MIXED[k] for k in ("mix2", "mos")}


def on_tenth(name, heads):
    ladders = as_given(*heads.items())
    return Tuning(name, 1, ladders, RATE, RATES, OPTIONS, "scotus, a tenth")


FEW_TUNING = on_tenth("T1-SC-search", FEW)
MORE_TUNING = on_tenth("T1-SC-whole-search", MORE)
SCOTUS = (*FEW, *MORE)
PAPERS = parts.T1_PAPER | {k: parts.PRESETS[k][0] for k in ("mix2", "mos")}


def t1_sc(chosen, measure=None):
    rows = [row(chosen, FEW_TUNING, k, PAPERS.get(k)) for k in FEW]
    return scored(shaped("T1-SC", rows), measure)


def t1_sc_whole(chosen, measure=None):
    rows = [row(chosen, FEW_TUNING, k, PAPERS.get(k)) for k in FEW]
    rows += [row(chosen, MORE_TUNING, k, PAPERS.get(k), seeds=1) for k in MORE]
    note = "The rows after `pol` have one seed, and no verdict."
    return scored(shaped("T1-SC-whole", rows, note=note), measure)


def all_parts(chosen, measure):
    """In the order in which they are run."""
    made = (t1_swb, m_swb, t1_sc, t3_swb, t1_sc_whole)
    return [part(chosen, measure) for part in made]


TUNINGS = {
    "T1-SWB": [T1_TUNING, DROPOUT_TUNING],
    "M-SWB": [NORM_TUNING],
    "T3-SWB": [MIXTURE_TUNING],
    "T1-SC": [FEW_TUNING],
    "T1-SC-whole": [MORE_TUNING],
}
# choices of another part's search
OTHER_CHOICES = {
    "M-SWB": (("lin", T1_TUNING), (DROPPED, DROPOUT_TUNING)),
    "T3-SWB": (("lin", T1_TUNING),),
    "T1-SC-whole": tuple((k, FEW_TUNING) for k in FEW),
}
