"""SVG plots of the results' pages: marks with intervals; ours filled, the paper's hollow. Colours follow the reader's light or dark theme."""
import math

WIDTH, LEFT, RIGHT, TOP, ROW = 720, 210, 30, 50, 24
STYLE = ("<style>text{font:12px sans-serif;fill:#222}.grid{stroke:#ccc}.ours{fill:#1f6fb4;stroke:#1f6fb4;stroke-width:2}"
         ".paper{fill:none;stroke:#b4521f;stroke-width:2}.back{fill:#fff}"
         "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.ours{fill:#6fb4f0;stroke:#6fb4f0}.paper{stroke:#f0a06f}.back{fill:#151515}}</style>")


def ticks(low, high):
    """1, 1.5, 2, 3, 5 and 7 of each power of ten between."""
    found = [m * 10 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 1.5, 2, 3, 5, 7)]
    return [t for t in found if low <= t <= high]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def dots(title, axis, rows):
    """rows: (label, ours or None, (low, high) or None, paper's or None), all > 0, on a logarithmic axis."""
    values = [v for _, ours, bounds, paper in rows for v in (ours, paper, *(bounds or ())) if v]
    if not values:
        return None
    low, high = min(values) / 1.06, max(values) * 1.06
    x = lambda v: LEFT + (WIDTH - LEFT - RIGHT) * math.log(v / low) / math.log(high / low)
    height = TOP + ROW * len(rows) + 44
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">', STYLE,
           f'<rect class="back" width="{WIDTH}" height="{height}"/>', f'<text x="12" y="20" font-weight="bold">{escape(title)}</text>',
           f'<circle class="ours" cx="18" cy="35" r="4"/><text x="28" y="39">here, with 95% interval</text>',
           f'<circle class="paper" cx="188" cy="35" r="4"/><text x="198" y="39">the paper</text>']
    bottom = TOP + ROW * len(rows)
    for t in ticks(low, high):
        out.append(f'<line class="grid" x1="{x(t):.1f}" y1="{TOP}" x2="{x(t):.1f}" y2="{bottom}"/><text x="{x(t):.1f}" y="{bottom + 16}" text-anchor="middle">{t:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{bottom + 36}" text-anchor="middle">{escape(axis)}</text>')
    for i, (label, ours, bounds, paper) in enumerate(rows):
        y = TOP + ROW * i + ROW / 2
        out.append(f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
        if bounds:
            out.append(f'<line class="ours" x1="{x(bounds[0]):.1f}" y1="{y:.1f}" x2="{x(bounds[1]):.1f}" y2="{y:.1f}"/>')
        if ours:
            out.append(f'<circle class="ours" cx="{x(ours):.1f}" cy="{y:.1f}" r="4"/>')
        if paper:
            out.append(f'<circle class="paper" cx="{x(paper):.1f}" cy="{y:.1f}" r="4"/>')
    return "\n".join(out + ["</svg>"]) + "\n"
