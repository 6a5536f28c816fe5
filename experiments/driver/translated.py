"""What T1-MT-200k trains: Table 1's kernels in translation on Multi30k and tatoeba together, with a
larger network. docs/results/rules.md says what decides it."""
from . import parts
from .parts import trained
from .setups import Tuning, shaped

RATE = 0.002
TENTH, WHOLE = "200,000 pairs, a tenth", "200,000 pairs"
# around what T1-MT's search chose at half the width
LADDERS = {
    "lin": (),
    "log": (("log:p={}", (64, 128, 256), 2),),
    "pow": (("pow:p={}", (1, 2, 3), 1.5),),
    "pol": (("pol:alpha={}:p=2", (0.125, 0.25, 0.5), 2),),
    "ssg": (("ssg:pace={}", (0.01, 0.1, 1), 10),),
    "mog": (("mog:form=sum:pace={}", (0.01, 0.1, 1), 10),),
}
# the kernel's parameters on a tenth of the pairs, then the rate on all of them
TUNING = Tuning(
    "T1-MT-200k-search",
    3,
    LADDERS,
    RATE,
    (RATE / 2, RATE, RATE * 2),
    setup=TENTH,
    rates_on=(WHOLE, shaped("T1-MT-200k").epochs),
)
# not searched, and with lin's rate: T1-MT's choice, the scales of a bounded score for ‖h‖² = 256
AS_GIVEN = {
    "rbf": "rbf:gamma=0.0025",
    "hpb": "hpb:ball=tanh",
    "wav": "wav:a=400:b=400",
    "sig": "sig",
}
# with a wide interval; the other rows have one seed
SEEDED = ("lin", "log", "pow", "ssg", "mog")


def t1_mt_200k(chosen, measure=None):
    """`chosen(tuning, kernel)` gives the head and the rate that the search found so far."""
    _, of_lin = chosen(TUNING, "lin")
    heads = {k: chosen(TUNING, k) for k in LADDERS} | {k: (h, of_lin) for k, h in AS_GIVEN.items()}
    rows = [
        trained(k, *heads[k], parts.MT_PAPER.get(k), seeds=0 if k in SEEDED else 1)
        for k in parts.LADDERS
    ]
    return parts.measured(shaped("T1-MT-200k", rows), measure)
