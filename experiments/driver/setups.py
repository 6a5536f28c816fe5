"""The shapes of a part: what is trained (Run) on what (Setup), what is measured of trained models
(Measure), and rows of both (Part). parts.csv has a line for each part of docs/results."""
import csv
import dataclasses
import pathlib
import re
import typing


@dataclasses.dataclass(frozen=True)
class Setup:
    """What a run is trained on; `cost` is an epoch's, that of lin on S being 1, where nothing has
    been measured yet."""

    program: str
    # the corpus; how many of its lines; `random`: in another order; `dictionary`: that of all lines
    text: str
    options: str
    cost: float
    # how often a checkpoint is written on a CPU: large ones take as long as some updates
    saved: str = "25u"


CAPTIONS = "--min-count 3 --init-bias log-frequency"
NETWORK = "--min-count 3 --layers 2 --hidden 128 --batch 16 --bptt 64 --init-bias log-frequency"
PAIRS = (
    "--shared-vocab --layers 2 --hidden 128 --ffn 256 --dropout 0.1 --warmup 500 --batch-tokens"
    " 2048"
)
# half to two thirds of the time where a CPU multiplies bfloat16 (docs/results/rules.md: which
# parts)
MEDIUM = "--matmul-precision medium"
SETUPS = {
    "S": Setup("lm_train", "captions 10000", f"{CAPTIONS} --hidden 256 --embed 256", 1),
    # measured over 15 updates: 0.32 s of CPU an update, 0.065 s on S
    "L": Setup("lm_train", "captions", f"{CAPTIONS} --hidden 512 --embed 512", 52),
    "L, width 256": Setup("lm_train", "captions", f"{CAPTIONS} --hidden 256 --embed 256", 15),
    "S, random lines": Setup(
        "lm_train", "captions 10000 random", f"{CAPTIONS} --hidden 256 --embed 256 {MEDIUM}", 0.5
    ),
    "M": Setup("lm_train", "captions 30000", f"{CAPTIONS} --hidden 512 --embed 512", 8),
    "S, no bias to start from": Setup(
        "lm_train", "captions 10000", "--min-count 3 --hidden 256 --embed 256", 1
    ),
    "small LSTM": Setup(
        "lm_train", "captions 10000", f"--arch lstm --embed 128 --lr 0.016 {NETWORK}", 0.5
    ),
    "small Transformer": Setup(
        "lm_train",
        "captions 10000",
        (
            "--arch transformer --ffn 254 --heads 4 --positions sinusoidal --attention-dropout 0 "
            f"--lr 0.004 --warmup 100 {NETWORK}"
        ),
        0.6,
    ),
    "spoken": Setup("lm_train", "rescoring", f"{CAPTIONS} --hidden 512 --embed 512 {MEDIUM}", 27),
    "grammar": Setup("lm_train", "sample", "--sample", 0.15),  # the mean over widths from 8 to 128
    "zipf": Setup(
        "lm_train", "zipf", "--hidden 128 --embed 128 --init-bias log-frequency", 12, "100u"
    ),
    "pairs": Setup("mt_train", "multi30k", PAIRS, 5),
}
# parallel corpora: training, validation and test text, with .de and .en
PARALLEL = {"multi30k": ("train", "val", "test2016"), "tatoeba": ("train", "valid", "test")}
MORE_PAIRS = (
    "--shared-vocab --layers 3 --hidden 256 --ffn 512 --dropout 0.1 --warmup {} --batch-tokens 2048"
    f" {MEDIUM}"
)
# measured over 30 updates: 0.29 s of CPU an update of 1,111; warm-ups are the same part of six
# epochs and of three of a tenth
SETUPS |= {
    "200,000 pairs": Setup(
        "mt_train",
        "multi30k+tatoeba",
        f"{MORE_PAIRS.format(1000)} --best-metric bleu",
        11,
        "250u",
    ),
    "200,000 pairs, a tenth": Setup(
        "mt_train", "multi30k+tatoeba 19950 random", MORE_PAIRS.format(50), 1.2
    ),
}
SETUPS |= {
    f"{name}, medium": dataclasses.replace(
        SETUPS[name], options=f"{SETUPS[name].options} {MEDIUM}", cost=cost
    )
    for name, cost in (("S", 0.65), ("L", 29), ("pairs", 3.5))
}
# Curve's texts: lines, and epochs
SIZES = {10_000: 10, 30_000: 6, 60_000: 4, 145_000: 3}
SETUPS |= {
    f"{lines:,} lines": Setup(
        "lm_train",
        f"captions {lines} random dictionary",
        f"--init-bias log-frequency --hidden 256 --embed 256 {MEDIUM}",
        8 * lines / 145_000,
    )
    for lines in SIZES
}


# ---- spoken English: the papers' network, a dictionary that the corpus has ----
SPOKEN = f"--init-bias log-frequency --hidden 512 --embed 512 {MEDIUM}"
# lines; measured over 20 to 40 updates, CPU seconds of an update of 1,120 tokens: .19 on switchboard,
# .42 on scotus, beside .023 of S
SETUPS |= {
    name: Setup("lm_train", text, SPOKEN, cost, "250u")
    for name, text, cost in (
        ("switchboard", "switchboard", 9.5),
        ("switchboard, a fifth", "switchboard 38475 random", 1.9),
        ("scotus", "scotus", 370),
        ("scotus, a fifth", "scotus 290635 random", 74),
        ("scotus, a tenth", "scotus 145317 random", 37),
    )
}


def by_bleu(setup):
    """Whether BLEU of the development text chooses a run's best checkpoint."""
    return "--best-metric bleu" in SETUPS[setup].options


class Corpus(typing.NamedTuple):
    """Files of a folder of $DATA: training, validation and test text, and a dictionary; what of the
    test text is drawn again by a bootstrap."""

    train: str
    valid: str
    test: str
    vocab: str = ""
    units: str = "images"
    # no line, word or dictionary of it is kept in a record
    private: bool = False


CORPORA = {
    "captions": Corpus("train.en", "val.en", "test.en"),
    "rescoring": Corpus("train.en", "val.ref.txt", "test.ref.txt"),
    "switchboard": Corpus(
        "train.txt", "valid.txt", "test.txt", "vocab.10000.txt", "conversations", True
    ),
    "scotus": Corpus("train.txt.xz", "valid.txt", "test.txt", "vocab.30000.txt", "hearings", True),
}


def corpus_of(setup):
    """(name, Corpus) of a set-up on lines of English; None where it has another text."""
    name = SETUPS[setup].text.split()[0]
    return (name, CORPORA[name]) if name in CORPORA else None


def private(setup):
    found = corpus_of(setup)
    return bool(found) and found[1].private


@dataclasses.dataclass(frozen=True)
class Row:
    label: str
    options: str  # the trainer's, without data, seed and length
    paper: float | None = None
    group: str = ""
    legacy: str = ""  # record of experiments/heads/ with the same set-up, with {seed}
    setup: str = ""  # where it is not the part's
    seeds: int = 0  # where they are not the part's
    epochs: int = 0  # where they are not the part's


def name_of(part, label, seed):
    return f"{part}/{''.join(c if c.isalnum() or c in '._' else '-' for c in label)}-{seed}"


@dataclasses.dataclass(frozen=True)
class Run:
    part: str
    row: Row
    seed: int
    epochs: int
    setup: str = "S"

    @property
    def name(self):
        return name_of(self.part, self.row.label, self.seed)

    @property
    def arguments(self):
        length = "" if "--after" in self.row.options else f"--after {self.epochs}e"
        own = self.row.options.split()
        # a row's options win
        common = " ".join(
            option
            for option in re.split(r" (?=--)", SETUPS[self.setup].options)
            if option.split()[0] not in own
        )
        return f"{common} {self.row.options} {length} --seed {self.seed} --threads 1".split()

    @property
    def told(self):
        """What is done, for people."""
        return f"{SETUPS[self.setup].program} {' '.join(self.arguments)}"


@dataclasses.dataclass(frozen=True)
class Measure:
    """Something that is measured of kept checkpoints; `make(context, measure)` gives the events of
    its record."""

    part: str
    label: str
    seed: int
    needs: tuple  # of Runs
    make: typing.Callable
    cost: float = 0.2  # in epochs of its model

    @property
    def name(self):
        return name_of(f"{self.part}/measured", self.label, self.seed)

    @property
    def row(self):
        return Row(self.label, "")

    @property
    def told(self):
        return f"{self.make.__name__} of {', '.join(run.name for run in self.needs)}"


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    title: str
    epochs: int
    seeds: int
    rows: tuple
    unit: str = "test perplexity"
    setup: str = "S"
    measures: tuple = ()
    note: str = ""  # printed below the table's head
    # the first so many seeds are left out, for other parts or its own search have seen them
    fresh: int = 0

    def run(self, row, seed):
        epochs = row.epochs or self.epochs
        return Run(self.name, row, self.fresh + seed, epochs, row.setup or self.setup)

    def runs_of(self, row):
        return [self.run(row, seed) for seed in range(1, (row.seeds or self.seeds) + 1)]

    def row(self, label):
        return next(row for row in self.rows if row.label == label)

    def runs(self, seed):
        return [self.run(row, seed) for row in self.rows if seed <= (row.seeds or self.seeds)]

    def jobs(self):
        """One seed of every row, what is measured of it, then the next seed."""
        return [
            job
            for seed in range(1, self.seeds + 1)
            for job in [
                *self.runs(seed),
                *(m for m in self.measures if m.seed == self.fresh + seed),
            ]
        ]


with open(pathlib.Path(__file__).with_name("parts.csv"), encoding="utf-8", newline="") as file:
    SHAPES = {line["part"]: line for line in csv.DictReader(file)}


def shaped(name, rows=(), **more):
    """The part whose title, lengths, set-up and unit parts.csv has."""
    shape = SHAPES[name]
    lengths = {key: int(shape[key] or 0) for key in ("epochs", "seeds", "fresh")}
    told = {key: shape[key] for key in ("title", "setup", "unit")}
    return Part(name, rows=tuple(rows), **lengths, **told, **more)


@dataclasses.dataclass(frozen=True)
class Tuning:
    """A search on validation with one seed: ladders of heads (or norms) by name, then of rates with
    the best."""

    part: str
    epochs: int
    ladders: dict
    rate: float
    rates: tuple = ()  # none: the rate is not tuned
    options: str = "--head {} --lr {:g}"
    setup: str = "S"
    legacy: typing.Callable = lambda head, rate: ""
    seed: int = 1
    # (set-up, epochs) in which rates are tuned, where those of the heads' ladders are others
    rates_on: tuple = ()

    def label(self, head, rate):
        return head + ("" if rate == self.rate else f" lr={rate:g}")

    def run(self, head, rate):
        row = Row(
            self.label(head, rate), self.options.format(head, rate), legacy=self.legacy(head, rate)
        )
        return Run(self.part, row, self.seed, self.epochs, self.setup)

    def rate_run(self, head, rate):
        """The run by which a rate is judged."""
        if not self.rates_on:
            return self.run(head, rate)
        setup, epochs = self.rates_on
        row = Row(f"{head} lr={rate:g}", self.options.format(head, rate))
        return Run(self.part, row, self.seed, epochs, setup)
