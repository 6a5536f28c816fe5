"""The figure of docs/results/README.md: a line a claim, perplexity over the inner product's, of the
papers and of both sizes of text."""
import math

from . import plots, spoken, statistics, tables, tuned

S, L, DROPOUT, RANDOM = "S", "L", "S, beside lin with dropout", "random captions"
SWB, SC = "Switchboard", "scotus"
# A claim: its label; (part, row, the baseline's row) whose figures the paper has; and our ratios as
# (mark, part, row, the baseline's part, the baseline's row).
LIN, BASE, DROPPED = "lin lr=0.008", "none, contexts none", ("R7", "lin, more dropout")
WARM = ("R1-warmup", LIN)


def on_random(row, part="S-random"):
    return (RANDOM, part, row, part, "lin")


def on_spoken(row, part="T1-SWB"):
    """On Switchboard, and on all of scotus where it has such a row."""
    more = [(SC, "T1-SC-whole", row, "T1-SC-whole", "lin")] * (row in spoken.SCOTUS)
    return [(SWB, part, row, part, "lin"), *more]


def kernel(name, row, warm=None, large=None):
    ours = [(S, *(("R1-warmup", warm, *WARM) if warm else ("T1", row, "T1", LIN)))]
    ours += [on_random(name)] * (name in tuned.RANDOM_HEADS) + on_spoken(name)
    return (name, ("T1", row, LIN), ours + ([(L, "T1-L", large, "T1-L", "lin")] if large else []))


def mixture(name):
    return (
        f"{name}, Adam .008",
        ("T3", name, "lin"),
        [(S, "T3", name, "T3", "lin"), (DROPOUT, "T3", name, *DROPPED)],
    )


CLAIMS = [
    kernel("pow", "pow:p=2 lr=0.008"),
    kernel("pol", "pol:alpha=2:p=2 lr=0.008"),
    kernel("mog", "mog:form=sum:pace=0.01 lr=0.008"),
    kernel("ssg", "ssg:pace=0.1 lr=0.008", large="ssg:pace=0.1"),
    kernel("log", "log:p=8 lr=0.008", warm="log:p=8 lr=0.008", large="log:p=8"),
    kernel("hpb", "hpb:ball=tanh lr=0.004", large="hpb:ball=tanh"),
    kernel("wav", "wav:a=1:b=10000 lr=0.008", warm="wav:a=1:b=10000 lr=0.008"),
    kernel("rbf", "rbf:gamma=1", warm="rbf:gamma=1 lr=0.002", large="rbf:gamma=1"),
    *(
        (
            f"{name}, its own rate",
            ("T3", name, "lin"),
            [on_random(name, "S-random-mix"), *on_spoken(name, "T3-SWB")],
        )
        for name in tuned.MIXED
    ),
    mixture("mos"),
    ("mos, Adam .002", ("T3", "mos", "lin"), [(S, "MoS", "mos", "MoS", "lin")]),
    mixture("mix2"),
    mixture("mixbig"),
    (
        "lin with tanh(C h)",
        None,
        [
            (S, "R7", "lin, map", "R7", "lin"),
            (DROPOUT, "R7", "lin, map", *DROPPED),
            on_random("lin, map"),
            *on_spoken("lin, map", "T3-SWB"),
        ],
    ),
    ("log and hpb", None, [(S, "T3b", "log and hpb", "T3b", "lin")]),
    ("norms 1 and 64 (m = 0)", ("M1", "m=0", "base"), [(S, "M1", "m=0", "M1", "base")]),
    ("cos:0.03", ("M1", "cos:0.03", "base"), [(S, "M1", "cos:0.03", "M1", "base")]),
    ("arc:0.03", ("M1", "arc:0.03", "base"), [(S, "M1", "arc:0.03", "M1", "base")]),
    ("lsm:2", ("M1", "lsm:2", "base"), [(S, "M1", "lsm:2", "M1", "base")]),
    (
        "largest-norm contexts",
        ("M2", "none, contexts max", BASE),
        [
            (S, "M2", "none, contexts max", "M2", BASE),
            (DROPOUT, "M2", "none, contexts max", *DROPPED),
            on_random("max"),
            (L, "M-L", "max", "M-L", "base"),
            *on_spoken("max", "M-SWB"),
        ],
    ),
    (
        "with them arc:0.001",
        ("M3", "arc:0.001", "base"),
        [
            (S, "M3", "arc:0.001", "M3", "base"),
            (L, "M-L", "arc:0.001", "M-L", "base"),
            *on_spoken("arc:0.001", "M-SWB"),
        ],
    ),
    ("with them arc:0.01", ("M3", "arc:0.01", "base"), [(S, "M3", "arc:0.01", "M3", "base")]),
]


def rows(parts):
    """[(label, the paper's ratio or None, [(mark, ratio, (low, high) or None)])] of what has
    records; a row that another search would have chosen is left out."""
    found = {(name, c.row.label): c for name, part in parts.items() for c in tables.cells(part)}

    def ours(mark, part, row, of_part, of_row):
        mine, theirs = found.get((part, row)), found.get((of_part, of_row))
        paired = mine and theirs and mine.against(theirs)
        return (mark, *statistics.ratio(paired)) if paired else None

    def printed(part, row, base):
        mine, theirs = found.get((part, row)), found.get((part, base))
        return mine and theirs and mine.row.paper / theirs.row.paper

    made = [
        (label, paper and printed(*paper), [r for r in (ours(*ratio) for ratio in ratios) if r])
        for label, paper, ratios in CLAIMS
    ]
    return [line for line in made if line[2]]


MARKS = {
    S: "circle",
    L: "square",
    DROPOUT: "ring",
    RANDOM: "triangle",
    SWB: "hourglass",
    SC: "bar",
}


def mark(kind, x, y):
    """A mark of the figure: SVG."""
    if kind == "square":
        return f'<rect class="ours" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
    if kind == "diamond":
        return f'<path class="paper" d="M{x:.1f} {y - 5.5:.1f}l5.5 5.5-5.5 5.5-5.5-5.5z"/>'
    paths = {
        "triangle": f"M{x:.1f} {y - 5:.1f}l5 9h-10z",
        "hourglass": f"M{x - 4:.1f} {y - 5:.1f}h8l-8 10h8z",
        "bar": f"M{x - 1.5:.1f} {y - 5.5:.1f}h3v11h-3z",
    }
    if kind in paths:
        return f'<path class="ours" d="{paths[kind]}"/>'
    hollow = ' style="fill:none"' if kind == "ring" else ""
    return f'<circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="4"{hollow}/>'


def draw(parts):
    """The figure, as SVG."""
    title = "Test perplexity over the inner product's, with 95% intervals over the seeds"
    lines = rows(parts)
    values = [v for _, paper, ours in lines for v in (paper, *(x for _, x, _ in ours)) if v]
    low, high = min(values) / 1.03, max(values) * 1.1
    left, right, top, row = 170, plots.WIDTH - plots.RIGHT, 58, 24
    bottom = top + row * len(lines)

    def x(v):
        clipped = min(max(v, low), high)
        return left + (right - left) * math.log(clipped / low) / math.log(high / low)

    out = plots.start(title, bottom + 30)
    at = 18
    used = {kind for _, _, ours in lines for kind, *_ in ours}
    for kind, told in [("diamond", "the papers")] + [(MARKS[m], m) for m in MARKS if m in used]:
        out.append(mark(kind, at, 38) + plots.text(at + 10, 42, told))
        at += 40 + 7 * len(told)
    for t in (0.9, 1, 1.5, 2, 3, 5, 7):
        style = ' style="stroke-width:2"' if t == 1 else ""
        out.append(
            f'<line class="grid"{style} x1="{x(t):.1f}" y1="{top}" x2="{x(t):.1f}" y2="{bottom}"/>'
            + plots.text(f"{x(t):.1f}", bottom + 16, f"{t:g}", plots.MIDDLE)
        )
    for i, (label, paper, ours) in enumerate(lines):
        middle = top + row * (i + 0.5)
        out.append(plots.text(left - 10, f"{middle + 4:.1f}", plots.escape(label), plots.END))
        if paper:
            out.append(mark("diamond", x(paper), middle))
        for k, (kind, value, bounds) in enumerate(ours):
            y = middle + 6 * (k - (len(ours) - 1) / 2)
            if bounds:
                out.append(
                    f'<line class="ours" x1="{x(bounds[0]):.1f}" y1="{y:.1f}"'
                    f' x2="{x(bounds[1]):.1f}" y2="{y:.1f}"/>'
                )
            out.append(mark(MARKS[kind], x(value), y))
    return plots.end(out)
