#!/usr/bin/env python3
"""Holds Markdown pages to the rules of docs/style.md that can be measured.

  prose.py            every page of the repository but CHANGELOG.md
  prose.py PAGE...    these pages, with their mean

A line has at most 100 columns, a sentence at most 40 words, a page's sentences at most 20 on
average; the words of its last table do not occur. Tables, code, headings and lines that
cannot be broken do not count. Exit 0 fine, 1 complaints.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COLUMNS, LONGEST, MEAN = 100, 40, 20
ITEM = re.compile(r"\s*([-*+]|\d+\.)\s+")
# A full stop inside of these ends no sentence.
SHORT = re.compile(r"\b(e\.g|i\.e|cf|vs|etc|al|eq|eqs|sec|Fig|fig|Prof|Dr|No)\.$")


def paragraphs(text):
    """(number of the first line, text) of each paragraph and item; without tables, code, headings
    and HTML."""
    found, current, fence = [], [], None
    lines = text.split("\n")

    def end():
        if current:
            found.append((current[0][0], " ".join(line.strip() for _, line in current)))
            current.clear()

    for number, line in enumerate(lines, 1):
        mark = re.match(r"\s*(```|~~~|\$\$)", line)
        if fence or mark:
            end()
            if mark and fence == mark[1]:
                fence = None
            elif mark and not fence and not line.strip()[len(mark[1]) :].endswith(mark[1]):
                fence = mark[1]
            continue
        if not line.strip() or line.lstrip().startswith(("#", "|", "<", "[!")):
            end()
        elif re.match(r"    ", line) and not current:
            end()
        elif ITEM.match(line):
            end()
            current.append((number, ITEM.sub("", line, count=1)))
        else:
            current.append((number, line.lstrip().lstrip(">")))
    end()
    return found


def sentences(paragraph):
    """Its sentences, each a list of words; a span of code or a formula is one word."""
    text = re.sub(r"`[^`]*`", "code", paragraph)
    text = re.sub(r"\$[^$]+\$", "formula", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    out, words = [], []
    for word in text.split():
        if re.search(r"\w", word):
            words.append(word)
        bare = word.rstrip("\"')*_]”’")
        if bare.endswith((".", "!", "?")) and not SHORT.search(bare):
            out.append(words)
            words = []
    out.append(words)
    return [s for s in out if s]


def banned_words(style):
    """{word: what to write instead} of the table under the heading "Words that we do not use"."""
    part = style.partition("## Words that we do not use")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", part, re.M)
    return dict(rows[1:])


def complaints(text, banned):
    """("LINE: WHAT" of a page's faults, the mean length of its sentences)."""
    found, lengths, fence = [], [], False
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*(```|~~~)", line):
            fence = not fence
        elif len(line) > COLUMNS and not fence and not re.match(r"\s*[|<]|    |!\[|#", line):
            # A line of one unbreakable word, as a link's target, may be longer.
            if len(line.split()) > 1 and max(map(len, line.split())) < COLUMNS - 8:
                found.append(f"{number}: {len(line)} columns")
    for number, paragraph in paragraphs(text):
        for words in sentences(paragraph):
            lengths.append(len(words))
            if len(words) > LONGEST:
                found.append(f"{number}: a sentence of {len(words)} words: {' '.join(words[:8])} …")
        prose = re.sub(r"`[^`]*`", "", paragraph).lower()
        for word, instead in banned.items():
            if re.search(rf"\b{re.escape(word.lower())}\b", prose):
                found.append(f'{number}: "{word}": write {instead}')
    mean = sum(lengths) / max(1, len(lengths))
    if mean > MEAN:
        found.append(f"1: {mean:.1f} words a sentence")
    return found, mean


def check_the_checker():
    """Made-up pages, before the real ones."""
    banned = banned_words("x\n## Words that we do not use\n\n| a | b |\n|---|---|\n| old | new |\n")
    assert banned == {"old": "new"}, banned
    long = " ".join(["word"] * 41)
    for text, expected in [
        ("Short. Sentences.\n", 0),
        (f"{long}.\n", 3),  # columns, length, mean
        (f"Short.\n\n- {' '.join(['so'] * 22)}\n- {' '.join(['so'] * 22)}\n", 0),
        (f"```\n{long}\n```\n\n    {long}\n\n| {long} |\n\n# {long}\n", 0),
        ("An old thing, `old`.\n", 1),
        ("Bolder.\n", 0),
        (f"See {'x' * 60} {'y' * 60}.\n", 1),
        (f"See\n{'x' * 120}.\n", 0),
    ]:
        found, _ = complaints(text, banned)
        assert len(found) == expected, (text, found)


def main():
    check_the_checker()
    banned = banned_words((ROOT / "docs/style.md").read_text())
    if len(sys.argv) > 1:
        bad = False
        for name in sys.argv[1:]:
            found, mean = complaints(pathlib.Path(name).read_text(), banned)
            print(f"{name}: {mean:.1f} words a sentence")
            print(*(f"{name}:{c}" for c in found), sep="\n")
            bad = bad or found
        return 1 if bad else 0
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True, text=True
    ).stdout.split() or [str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")]
    pages = [n for n in sorted(listed) if n != "CHANGELOG.md" and (ROOT / n).exists()]
    failures = [
        f"{name}:{c}" for name in pages for c in complaints((ROOT / name).read_text(), banned)[0]
    ]
    for failure in failures:
        print(failure)
    print(f"{len(pages)} pages, {len(failures)} faults")
    return 1 if failures else 0


sys.exit(main())
