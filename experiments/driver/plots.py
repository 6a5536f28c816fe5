"""SVG plots of the results' pages: marks with intervals; ours filled, the paper's hollow. Colours
follow the reader's light or dark theme."""
import math

WIDTH, LEFT, RIGHT, TOP, ROW = 720, 210, 30, 50, 24
STYLE = (
    "<style>text{font:12px"
    " sans-serif;fill:#222}.grid{stroke:#ccc}.ours{fill:#1f6fb4;stroke:#1f6fb4;stroke-width:2}"
    ".paper{fill:none;stroke:#b4521f;stroke-width:2}.back{fill:#fff}.line{fill:none;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}"
    ".ours{fill:#6fb4f0;stroke:#6fb4f0}.paper{stroke:#f0a06f}.back{fill:#151515}}</style>"
)


def ticks(low, high):
    """1, 1.5, 2, 3, 5 and 7 of each power of ten between; where fewer than three are, multiples of
    a round step."""
    found = [
        m * 10**e
        for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for m in (1, 1.5, 2, 3, 5, 7)
    ]
    found = [t for t in found if low <= t <= high]
    if len(found) > 2:
        return found
    power = 10 ** math.floor(math.log10((high - low) / 3))
    step = max(m * power for m in (1, 2, 5) if m * power <= (high - low) / 3)
    return [
        float(f"{k * step:.12g}") for k in range(math.ceil(low / step), math.floor(high / step) + 1)
    ]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


MIDDLE, END = ' text-anchor="middle"', ' text-anchor="end"'


def text(x, y, told, more=""):
    return f'<text x="{x}" y="{y}"{more}>{told}</text>'


def start(title, height):
    """The first elements of a plot: its size, what a reader who does not see it is told, style."""
    size = f'viewBox="0 0 {WIDTH} {height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">',
        STYLE,
        f'<rect class="back" width="{WIDTH}" height="{height}"/>',
        text(12, 20, escape(title), ' font-weight="bold"'),
    ]


def end(out):
    return "\n".join([*out, "</svg>"]) + "\n"


def label_of(axis, left, right, bottom):
    """The name of the axis below a plot."""
    return text(f"{(left + right) / 2:.0f}", bottom + 36, escape(axis), MIDDLE)


def dots(title, axis, rows, other="the paper"):
    """rows: (label, ours or None, (low, high) or None, the other figure or None), figures > 0, on a
    logarithmic axis; a low that is not ends at the edge."""
    values = [
        v for _, ours, bounds, paper in rows for v in (ours, paper, *(bounds or ())) if v and v > 0
    ]
    if not values:
        return None
    low, high = min(values) / 1.06, max(values) * 1.06
    x = lambda v: LEFT + (WIDTH - LEFT - RIGHT) * math.log(max(v, low) / low) / math.log(high / low)
    bottom = TOP + ROW * len(rows)
    mark = lambda kind, v, y: f'<circle class="{kind}" cx="{v}" cy="{y}" r="4"/>'
    out = start(title, bottom + 44)
    out.append(mark("ours", 18, 35) + text(28, 39, "here, with 95% interval"))
    if any(row[3] for row in rows):
        out.append(mark("paper", 188, 35) + text(198, 39, other))
    for t in ticks(low, high):
        line = f'<line class="grid" x1="{x(t):.1f}" y1="{TOP}" x2="{x(t):.1f}" y2="{bottom}"/>'
        out.append(line + text(f"{x(t):.1f}", bottom + 16, f"{t:g}", MIDDLE))
    out.append(label_of(axis, LEFT, WIDTH - RIGHT, bottom))
    for i, (label, ours, bounds, paper) in enumerate(rows):
        y = TOP + ROW * i + ROW / 2
        out.append(text(LEFT - 10, f"{y + 4:.1f}", escape(label), END))
        if bounds:
            ends = f'x1="{x(bounds[0]):.1f}" y1="{y:.1f}" x2="{x(bounds[1]):.1f}" y2="{y:.1f}"'
            out.append(f'<line class="ours" {ends}/>')
        for kind, v in (("ours", ours), ("paper", paper)):
            if v:
                out.append(mark(kind, f"{x(v):.1f}", f"{y:.1f}"))
    return end(out)


COLOURS = ("#1f6fb4", "#b4521f", "#2e8b57", "#8a4fb0", "#b08900", "#c03a6b", "#5b6b7a", "#00838f")
SIDE, SIDE_RIGHT, BOTTOM = 60, 110, 330  # of a plot of lines


def span(share):
    """Where a share of the axis lies, from left to right."""
    return SIDE + (WIDTH - SIDE - SIDE_RIGHT) * share


def grid(marks, py):
    """Lines across, each with its number."""
    return [
        f'<line class="grid" x1="{SIDE}" y1="{py(y):.1f}" x2="{WIDTH - SIDE_RIGHT}"'
        f' y2="{py(y):.1f}"/>' + text(SIDE - 8, f"{py(y) + 4:.1f}", f"{y:g}", END)
        for y in marks
    ]


def drawn(series, px, py):
    """Lines of (label, [(x, y, ...)]); a label stands at its line's end, moved apart where two would
    overlap."""
    out, lowest = [], -math.inf
    for i, (label, points) in sorted(enumerate(series), key=lambda line: py(line[1][1][-1][1])):
        colour = COLOURS[i % len(COLOURS)]
        style = f'style="stroke:{colour}"'
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y, *_ in points)
        out.append(f'<polyline class="line" {style} points="{path}"/>')
        for x, _, *bounds in points:
            for low, high in filter(None, bounds):
                ends = f'x1="{px(x):.1f}" y1="{py(low):.1f}" x2="{px(x):.1f}" y2="{py(high):.1f}"'
                out.append(f'<line class="line" {style} {ends}/>')
        lowest = max(py(points[-1][1]) + 4, lowest + 14)
        at = f"{px(points[-1][0]) + 6:.1f}"
        out.append(text(at, f"{lowest:.1f}", escape(label), f' style="fill:{colour}"'))
    return out


def below(xs, px, axis):
    """What stands below a plot of lines."""
    shown = [text(f"{px(x):.1f}", BOTTOM + 16, f"{x:g}", MIDDLE) for x in xs]
    return [*shown, label_of(axis, SIDE, WIDTH - SIDE_RIGHT, BOTTOM)]


def curves(title, axis, lines):
    """lines: (label, [(step, share in [0, 1])])."""
    lines = [(label, points) for label, points in lines if points]
    if not lines:
        return None
    last = max(x for _, points in lines for x, _ in points) or 1
    px, py = lambda x: span(x / last), lambda y: BOTTOM - (BOTTOM - TOP) * y
    out = start(title, BOTTOM + 44) + grid((0, 0.25, 0.5, 0.75, 1), py)
    return end(out + below((0, last / 2, last), px, axis) + drawn(lines, px, py))


def lines(title, axis, side, series):
    """series: (label, [(x, y, (low, high) or None)]), x and y > 0, both axes logarithmic."""
    series = [(label, points) for label, points in series if points]
    if not series:
        return None
    values = [
        v for _, points in series for _, y, bounds in points for v in (y, *(bounds or ())) if v > 0
    ] or [1]
    xs = sorted({x for _, points in series for x, _, _ in points})
    low, high, widest = min(values) / 1.1, max(values) * 1.1, math.log(xs[-1] / xs[0])
    px = lambda x: span(math.log(x / xs[0]) / widest if widest else 0.5)
    py = lambda y: BOTTOM - (BOTTOM - TOP) * math.log(max(y, low) / low) / math.log(high / low)
    out = [*start(title, BOTTOM + 44), text(12, 39, escape(side))]
    return end(out + grid(ticks(low, high), py) + below(xs, px, axis) + drawn(series, px, py))
