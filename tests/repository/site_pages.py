#!/usr/bin/env python3
"""The site shows what GitHub shows (docs/site/compare.py): pages with what the two read differently,
and 500 random pages of nested lists, code, tables and headings. And the comparison sees each fault.

  site_pages.py     with a Python that has docs/site/requirements.txt

The repository's own pages are compared where the site is built (docs/site/build.py). Exit 0 fine,
1 wrong.
"""
import pathlib
import random
import sys

import markdown

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/site"))
import build
import compare
import hooks
import stage

PAGES = {
    "a bar in a cell's code": "| a | b |\n|---|---|\n| `x \\|\\| y` | a \\| [b \\| c](d), `` ` \\| `` |",
    "a bar in code elsewhere": "`sed 's/a\\|b//'`\n\n    sed 's/a\\|b//'\n\n```\n| `\\|` |\n```",
    "code in an item": "- a\n\n      f(x)\n        g\n\n  goes on\n- b",
    "code in a numbered item": "9. a\n\n       f\n\n10. b\n\n        g\n\n    text",
    "code in an item of an item": "- a\n  - b\n\n        f\n\n    of b\n\n  of a\n- c",
    "a fence in an item": "- a\n\n  ```sh\n  f \\\n    g\n\n  h\n  ```\n- b",
    "a list after a paragraph": "text:\n- a\n- b\n\ntext\n1. c\n2. d",
    "a list after an item's paragraph": "- a\n\n  text:\n  - b\n- c",
    "numbers that begin a line": "There were\n12. of them\n\n- of (1,\n  2) two\n- x",
    "numbers with brackets": "1) a\n2) b",
    "a line that goes on": "- a\nb\n  c\n\nd",
    "an item whose line goes on": "- a\nb\n\n  c",
    "a table in an item": "- a\n\n  | b | c |\n  |---|---|\n  | `d \\| e` | f |\n- g",
    "tabs in code": "    a\tb\n\n```\n\tc\td\n```\n\n- x\n\n      e\tf",
    "a link in code": "`[a](b.md)` and [`a`\nb](c.md)\n\n    [a](b.md)",
    "formulas": "so $a_i * b_j$ and\n$$x_1 * y_1\n+ z*w$$\nwhere `$A` is $5 and `$B`",
    "marks in code": "`*a* <b> __c__ \\d` and `` `e` ``",
}
# (page, HTML that shows it, HTML that shows something else)
FAULTS = [
    ("- a\n\n      b", "<ul><li>a<pre>b</pre></li></ul>", "<ul><li>a<p>b</p></li></ul>"),
    ("`a|b`", "<p><code>a|b</code></p>", "<p><code>a\\|b</code></p>"),
    ("`a` b", "<p><code>a</code> b</p>", "<p>a b</p>"),
    ("- a\n- b", "<ul><li>a</li><li>b</li></ul>", "<ul><li>a\n- b</li></ul>"),
    ("- a\n- b", "<ul><li><p>a</p></li><li>b</li></ul>", "<ul><li><p>a</p><p>b</p></li></ul>"),
    ("- a\n  - b", "<ul><li>a<ul><li>b</li></ul></li></ul>", "<ul><li>a</li><li>b</li></ul>"),
    ("1. a", "<ol><li>a</li></ol>", "<ul><li>a</li></ul>"),
    ("    a\tb", "<pre>a\tb</pre>", "<pre>a   b</pre>"),
    ("    a\n      b", "<pre>a\n  b</pre>", "<pre>a\nb</pre>"),
    ("a\n\nb", "<p>a</p><p>b</p>", "<p>a</p>"),
    ("a\n\n---", "<p>a</p><hr>", "<p>a</p>"),
    ("*a* b", "<p><em>a</em> b</p>", "<p>a b</p>"),
    ("`a `` b", None, "<p>`a `` b</p>"),
]


def shown(text):
    """The page as the site has it."""
    return markdown.markdown(
        stage.Lines(text).text("to/{}".format),
        extensions=[*build.EXTENSIONS, hooks.KeepTabs()],
        extension_configs=build.EXTENSIONS,
    )


def blocks(draw, depth):
    """The lines of some blocks, as GitHub takes them."""
    lines, before = [], None
    for kind in draw.choices(
        ["text", "code", "fence", "table", "heading", "list"],
        [4, 2, 1, 1, 1, 4],
        k=draw.randint(1, 4),
    ):
        if before == "list" and kind in ("code", "list"):  # these would belong to the list
            continue
        word = draw.choice(["`a\\|b`", "[a](b)", "*c*", "d", "1. e", "`` f` ``", "- g"])
        if kind == "text":
            lines += [f"Some {word}", f"and {word}"][: draw.randint(1, 2)]
        elif kind == "code":
            lines += [f"    {word}", f"      {word}\tx"]
        elif kind == "fence":
            lines += ["```", f"{word}", "", "    | `\\|` |", "```"]
        elif kind == "table":
            lines += ["| a | b |", "|---|---|", "| `c \\| d` | e |"]
        elif kind == "heading":
            lines += [f"## A {word}"]
        elif kind == "list" and depth < 3:
            mark = draw.choice(["- ", "1. "])
            for _ in range(draw.randint(1, 3)):
                inner = [
                    f"an {word}",
                    *(["", *blocks(draw, depth + 1)] if draw.random() < 0.5 else []),
                ]
                lines += [mark + inner[0], *(" " * len(mark) * bool(x) + x for x in inner[1:])]
                lines += [""] * (len(inner) > 1)
        lines, before = [*lines, ""], kind
    return lines


def main():
    wrong = []
    for name, text in PAGES.items():
        wrong += [f"{name}: {line}" for line in compare.differences(text, shown(text))]
    for page, right, other in FAULTS:
        if right and compare.differences(page, right):
            wrong.append(f"{page!r}: {right} is taken for a fault")
        if not compare.differences(page, other):
            wrong.append(f"{page!r}: {other} is taken for right")
    if 'href="to/c.md"' not in shown(PAGES["a link in code"]):
        wrong.append("a link is not changed")
    draw = random.Random(1)
    for number in range(500):
        text = "\n".join(blocks(draw, 0))
        if found := compare.differences(text, shown(text)):
            wrong += [
                f"random page {number}:",
                text,
                *found,
                "as staged:",
                stage.Lines(text).text(str),
            ]
            break
    print(*wrong, sep="\n")
    print(f"{len(PAGES)} pages, {len(FAULTS)} faults, 500 random pages: {len(wrong)} lines wrong")
    return 1 if wrong else 0


sys.exit(main())
