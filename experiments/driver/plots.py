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
    height = TOP + ROW * len(rows) + 44
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
            f' aria-label="{escape(title)}">'
        ),
        STYLE,
        f'<rect class="back" width="{WIDTH}" height="{height}"/>',
        f'<text x="12" y="20" font-weight="bold">{escape(title)}</text>',
        (
            f'<circle class="ours" cx="18" cy="35" r="4"/><text x="28" y="39">here, with 95%'
            f" interval</text>"
        ),
    ]
    if any(row[3] for row in rows):
        out.append(
            f'<circle class="paper" cx="188" cy="35" r="4"/><text x="198" y="39">{other}</text>'
        )
    bottom = TOP + ROW * len(rows)
    for t in ticks(low, high):
        out.append(
            f'<line class="grid" x1="{x(t):.1f}" y1="{TOP}" x2="{x(t):.1f}" y2="{bottom}"/><text'
            f' x="{x(t):.1f}" y="{bottom + 16}" text-anchor="middle">{t:g}</text>'
        )
    out.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{bottom + 36}"'
        f' text-anchor="middle">{escape(axis)}</text>'
    )
    for i, (label, ours, bounds, paper) in enumerate(rows):
        y = TOP + ROW * i + ROW / 2
        out.append(
            f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>'
        )
        if bounds:
            out.append(
                f'<line class="ours" x1="{x(bounds[0]):.1f}" y1="{y:.1f}" x2="{x(bounds[1]):.1f}"'
                f' y2="{y:.1f}"/>'
            )
        if ours:
            out.append(f'<circle class="ours" cx="{x(ours):.1f}" cy="{y:.1f}" r="4"/>')
        if paper:
            out.append(f'<circle class="paper" cx="{x(paper):.1f}" cy="{y:.1f}" r="4"/>')
    return "\n".join(out + ["</svg>"]) + "\n"


COLOURS = ("#1f6fb4", "#b4521f", "#2e8b57", "#8a4fb0", "#b08900", "#c03a6b", "#5b6b7a", "#00838f")


def curves(title, axis, lines):
    """lines: (label, [(step, share in [0, 1])]); a label stands at its line's end, moved apart
    where two would overlap."""
    lines = [(label, points) for label, points in lines if points]
    if not lines:
        return None
    left, right, bottom = 60, 110, 330
    last = max(x for _, points in lines for x, _ in points) or 1
    px = lambda x: left + (WIDTH - left - right) * x / last
    py = lambda y: bottom - (bottom - TOP) * y
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}"'
            f' role="img" aria-label="{escape(title)}">'
        ),
        STYLE,
        f'<rect class="back" width="{WIDTH}" height="{bottom + 44}"/>',
        f'<text x="12" y="20" font-weight="bold">{escape(title)}</text>',
    ]
    for y in (0, 0.25, 0.5, 0.75, 1):
        out.append(
            f'<line class="grid" x1="{left}" y1="{py(y):.1f}" x2="{WIDTH - right}"'
            f' y2="{py(y):.1f}"/><text x="{left - 8}" y="{py(y) + 4:.1f}"'
            f' text-anchor="end">{y:g}</text>'
        )
    for x in (0, last / 2, last):
        out.append(f'<text x="{px(x):.1f}" y="{bottom + 16}" text-anchor="middle">{x:g}</text>')
    out.append(
        f'<text x="{(left + WIDTH - right) / 2:.0f}" y="{bottom + 36}"'
        f' text-anchor="middle">{escape(axis)}</text>'
    )
    lowest = -math.inf
    for i, (label, points) in sorted(enumerate(lines), key=lambda line: py(line[1][1][-1][1])):
        colour = COLOURS[i % len(COLOURS)]
        out.append(
            f'<polyline class="line" style="stroke:{colour}" points="'
            + " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in points)
            + '"/>'
        )
        lowest = max(py(points[-1][1]) + 4, lowest + 14)
        out.append(
            f'<text x="{px(points[-1][0]) + 6:.1f}" y="{lowest:.1f}"'
            f' style="fill:{colour}">{escape(label)}</text>'
        )
    return "\n".join(out + ["</svg>"]) + "\n"


def lines(title, axis, side, series):
    """series: (label, [(x, y, (low, high) or None)]), x and y > 0, both axes logarithmic."""
    series = [(label, points) for label, points in series if points]
    if not series:
        return None
    values = [
        v for _, points in series for _, y, bounds in points for v in (y, *(bounds or ())) if v > 0
    ] or [1]
    xs = sorted({x for _, points in series for x, _, _ in points})
    low, high, left, right, bottom = min(values) / 1.1, max(values) * 1.1, 60, 110, 330
    px = lambda x: left + (WIDTH - left - right) * (
        math.log(x / xs[0]) / math.log(xs[-1] / xs[0]) if len(xs) > 1 else 0.5
    )
    py = lambda y: bottom - (bottom - TOP) * math.log(max(y, low) / low) / math.log(high / low)
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}"'
            f' role="img" aria-label="{escape(title)}">'
        ),
        STYLE,
        f'<rect class="back" width="{WIDTH}" height="{bottom + 44}"/>',
        f'<text x="12" y="20" font-weight="bold">{escape(title)}</text>',
        f'<text x="12" y="39">{escape(side)}</text>',
    ]
    for y in ticks(low, high):
        out.append(
            f'<line class="grid" x1="{left}" y1="{py(y):.1f}" x2="{WIDTH - right}"'
            f' y2="{py(y):.1f}"/><text x="{left - 8}" y="{py(y) + 4:.1f}"'
            f' text-anchor="end">{y:g}</text>'
        )
    out += [
        f'<text x="{px(x):.1f}" y="{bottom + 16}" text-anchor="middle">{x:g}</text>' for x in xs
    ]
    out.append(
        f'<text x="{(left + WIDTH - right) / 2:.0f}" y="{bottom + 36}"'
        f' text-anchor="middle">{escape(axis)}</text>'
    )
    lowest = -math.inf
    for i, (label, points) in sorted(enumerate(series), key=lambda line: py(line[1][1][-1][1])):
        style = f'style="stroke:{COLOURS[i % len(COLOURS)]}"'
        out.append(
            f'<polyline class="line" {style} points="'
            + " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y, _ in points)
            + '"/>'
        )
        out += [
            f'<line class="line" {style} x1="{px(x):.1f}" y1="{py(b[0]):.1f}" x2="{px(x):.1f}"'
            f' y2="{py(b[1]):.1f}"/>'
            for x, _, b in points
            if b
        ]
        lowest = max(py(points[-1][1]) + 4, lowest + 14)
        out.append(
            f'<text x="{px(points[-1][0]) + 6:.1f}" y="{lowest:.1f}"'
            f' style="fill:{COLOURS[i % len(COLOURS)]}">{escape(label)}</text>'
        )
    return "\n".join(out + ["</svg>"]) + "\n"
