"""What each part trains: rows (a label, options, the paper's figure) times seeds. docs/results/rules.md says what decides a part."""
import dataclasses

SMALL = "--hidden 256 --embed 256 --init-bias log-frequency"


@dataclasses.dataclass(frozen=True)
class Row:
    label: str
    options: str  # lm_train's, without data, seed and length
    paper: float | None = None
    group: str = ""
    legacy: str = ""  # record of experiments/heads/ with the same set-up, with {seed}


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    title: str
    epochs: int
    seeds: int
    rows: tuple
    unit: str = "test perplexity"

    def runs(self, seed):
        return [Run(self.name, row, seed, self.epochs) for row in self.rows]


@dataclasses.dataclass(frozen=True)
class Run:
    part: str
    row: Row
    seed: int
    epochs: int

    @property
    def name(self):
        safe = "".join(c if c.isalnum() or c in "._" else "-" for c in self.row.label)
        return f"{self.part}/{safe}-{self.seed}"

    @property
    def arguments(self):
        return f"--min-count 3 {SMALL} {self.row.options} --after {self.epochs}e --seed {self.seed} --threads 1".split()


def lr(value):
    return f"--lr {value:g}"


# ---- T1: the ladders that tuning climbs; each starts with what experiments/heads/search has ----
# kernel: (template of the head, values, factor of the next step). A kernel may have several ladders.
LADDERS = {
    "lin": (),
    "log": (("log:p={}", (0.5, 1, 2, 4), 2),),
    "pow": (("pow:p={}", (0.5, 1, 2, 3), 1.5),),
    "pol": (("pol:alpha={}:p=2", (0.5, 1), 2),),
    "rbf": (("rbf:gamma={}", (0.01, 0.1, 1), 10),),
    "ssg": (("ssg:variance=split", (), 0),),
    "mog": (("mog:form=sum", (), 0), ("mog:form=mixture", (), 0)),
    "hpb": tuple((f"hpb:ball={ball}", (), 0) for ball in ("lorentz", "tanh", "clip", "sigmoid")),
    "wav": (("wav:a={0}:b={0}", (1, 10, 100), 10), ("wav:a=1:b={}", (1, 10), 10)),
    "sig": (),
}
SEARCH_EPOCHS, RATE = 2, 0.002
T1_PAPER = {"lin": 46.8, "log": 103.0, "pow": 46.8, "pol": 47.3, "rbf": 284.9, "ssg": 49.9, "mog": 46.7, "hpb": 122.6, "wav": 289.7}
# Heads that experiments/heads/singles has, by what `@tuned` stood for.
SINGLES = {"lin": "lin", "log:p=4": "log", "pow:p=2": "pow", "pol:alpha=1:p=2": "pol", "rbf:gamma=1": "rbf", "hpb:ball=tanh": "hpb",
           "wav:a=1:b=1": "wav", "sig": "sig", "ssg:variance=0.5": "ssg", "mog:form=sum:variance=0.5": "mog"}

# What T1 shows of a kernel until its search is done.
BEFORE = {"log": "log:p=4", "pow": "pow:p=2", "pol": "pol:alpha=1:p=2", "rbf": "rbf:gamma=1", "ssg": "ssg:variance=split",
          "mog": "mog:form=mixture", "hpb": "hpb:ball=tanh", "wav": "wav:a=1:b=1"}


def search_run(head, rate):
    plain = "pol:p=2" if head == "pol:alpha=1:p=2" else head
    legacy = "search/" + "".join(c if c.isalnum() or c == "." else "-" for c in plain) if rate == RATE else ""
    if rate == RATE and head in ("lin", "sig"):
        legacy = f"singles/{head}-tuned-1"  # the first two of its ten epochs
    return Run("T1-search", Row(head + ("" if rate == RATE else f" lr={rate:g}"), f"--head {head} {lr(rate)}", legacy=legacy), 1, SEARCH_EPOCHS)


def t1_row(kernel, head, rate, group=""):
    legacy = f"singles/{SINGLES[head]}-tuned-{{seed}}" if rate == RATE and head in SINGLES else ""
    return Row(head + ("" if rate == RATE else f" lr={rate:g}"), f"--head {head} {lr(rate)}", T1_PAPER.get(kernel), group or kernel, legacy)


def t1(best):
    """`best(kernel)` gives the head and the rate that the search found so far."""
    rows = [t1_row(kernel, *best(kernel)) for kernel in LADDERS]
    rows += [t1_row("ssg", "ssg:variance=0.5", RATE, "lin in disguise"), t1_row("mog", "mog:form=sum:variance=0.5", RATE, "lin in disguise")]
    return Part("T1", "Table 1 of the kernel paper: ten kernels as output layers of a language model", 10, 5, tuple(rows))


# ---- T2 ----
T2_PAPER = {0.001: (4.74, 46.8), 0.01: (4.98, 46.6), 0.1: (3.67, 47.2), 1: (3.81, 47.4)}


def t2():
    rows = [Row("none", f"--head mos {lr(RATE)}", legacy="presets/mos-{seed}")]
    for kind in ("variance", "cv2"):
        rows += [Row(f"{kind}:{rho:g}", f"--head mos --pi-reg {kind}:{rho:g} {lr(RATE)}", T2_PAPER[rho][0], kind,
                     f"pi/{kind}-{rho:g}") for rho in T2_PAPER]
    return Part("T2", "Table 2 of the kernel paper: a penalty on the prior's variance", 3, 5, tuple(rows), "validation perplexity")


# ---- margins ----
MARGINS = (0, 0.001, 0.003, 0.01, 0.03)
M1_PAPER = {"arc": (66.9, 68.0, 80.7, 106.1, 170.4), "cos": (66.9, 70.3, 77.7, 108.0, 382.1)}


def m1():
    norms = "--word-norm const:1 --context-norm const:64"
    rows = [Row("base", f"--head lin {lr(RATE)}", 53.7, legacy="presets/lin-{seed}"), Row("lsm:2", f"--head lin --margin lsm:2 {lr(RATE)}", 390.3),
            Row("m=0", f"--head lin {norms} {lr(RATE)}", 66.9)]  # one run for both: arc:0 and cos:0 are no margin
    for m, arc, cos in list(zip(MARGINS, M1_PAPER["arc"], M1_PAPER["cos"]))[1:]:
        rows += [Row(f"{kind}:{m:g}", f"--head lin --margin {kind}:{m:g} {norms} {lr(RATE)}", paper, kind) for kind, paper in (("cos", cos), ("arc", arc))]
    return Part("M1", "Table 1 of the margin paper: margins between normed vectors", 5, 5, tuple(rows))


M2_WORDS = ("none", "uniform", "log-rank", "unigram:1,2", "log-unigram")
M2_PAPER = {"none": (53.7, 56.8, 56.8, 56.0, 53.8), "max": (52.9, 56.4, 57.4, 54.6, 53.1)}


def m2():
    rows = []
    for context, papers in M2_PAPER.items():
        for word, paper in zip(M2_WORDS, papers):
            options = " ".join([f"--word-norm {word}"] * (word != "none") + [f"--context-norm {context}"] * (context != "none"))
            rows.append(Row(f"{word}, contexts {context}", f"--head lin {options} {lr(RATE)}", paper, context,
                            "presets/lin-{seed}" if not options else ""))
    return Part("M2", "Table 2 of the margin paper: norms of words and contexts", 5, 5, tuple(rows))


M3_PAPER = {"arc": (54.2, 55.5, 57.7, 60.0), "cos": (54.1, 55.9, 58.4, 60.9)}  # the paper's two columns, very probably in this order


def m3():
    rows = [Row("base", f"--head lin {lr(RATE)}", 53.7, legacy="presets/lin-{seed}")]
    for i, m in enumerate((0.001, 0.003, 0.006, 0.01)):
        rows += [Row(f"{kind}:{m:g}", f"--head lin --context-norm max --margin {kind}:{m:g} {lr(RATE)}", M3_PAPER[kind][i], kind) for kind in ("arc", "cos")]
    return Part("M3", "Table 3 of the margin paper: small margins", 5, 5, tuple(rows))


# ---- mixtures: the paper's presets with the kernels that T1's search chose ----
PRESETS = {"mos": (47.8, "9*lin"), "mixbig": (47.1, "lin,log,pow,pol,rbf,ssg,mog,hpb,wav"), "mix1": (46.6, "lin,log,rbf,hpb,wav"), "mix2": (46.5, "3*lin,log"),
           "mix3": (47.3, "lin,log,pow,pol"), "mix4": (47.1, "lin,log,rbf,hpb"), "mix5": (46.7, "2*lin,2*rbf")}


def mixture(components, best):
    """A preset's head with each kernel as `best` has it."""
    chosen = []
    for part in components.split(","):
        count, _, kernel = part.rpartition("*")
        chosen.append((count + "*" if count else "") + best(kernel)[0])
    return "mix:" + ",".join(chosen)


def t3(best):
    rate = lr(best("lin")[1])
    rows = [Row("lin", f"--head lin {rate}", 46.8), Row("mix:1*lin", f"--head mix:1*lin {rate}"),
            Row("lin as large as four components", f"--head lin --embed 320 {rate}"), Row("lin as large as nine components", f"--head lin --embed 399 {rate}")]
    for name, (paper, components) in PRESETS.items():
        for untied in ("", " --untied"):
            rows.append(Row(name + untied.replace(" --", ", "), f"--head {mixture(components, best)}{untied} --pi-reg variance:0.1 {rate}", None if untied else paper, "mixture"))
    return Part("T3", "Table 3 of the kernel paper: mixtures beside lin", 10, 5, tuple(rows))


def t3b(best):
    rate = lr(best("lin")[1])
    rows = [Row("lin", f"--head lin {rate}", 46.8)]
    rows += [Row(label, f"--head {head} --pi-reg variance:0.1 {rate}", None, "mixture") for label, head in (
        ("log and hpb", mixture("log,hpb", best)), ("pow:p=1 and pol:p=3", "mix:pow:p=1,pol:p=3"), ("pow:p=1 and ssg", "mix:pow:p=1,ssg:variance=split"))]
    return Part("T3b", "Mixtures without lin", 10, 5, tuple(rows))
