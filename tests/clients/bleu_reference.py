#!/usr/bin/env python3
"""Compares our BLEU and chrF with sacreBLEU's, line by printed line, on real files and on edits of
them.

  pip install sacrebleu==2.6.0
  tests/clients/bleu_reference.py DATA build/bin/mt_translate [HYPOTHESES REFERENCES ...]

DATA is the folder that holds multi30k/ and iwslt14/, or - for what the environment variable DATA
names, of which every eighth pair is taken, others with the next commit; further pairs of files are
compared too. Every pair is scored with every row of SETTINGS through sacreBLEU's Python interface,
and with the first one through its command line too. Exit 0: no difference, 1: differences, 77
skipped: no sacreBLEU or no DATA.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from turn import turn  # noqa: E402

try:
    from sacrebleu.metrics import BLEU, CHRF
except ImportError as error:
    print(f"skipped: sacreBLEU is not installed ({error})")
    sys.exit(77)

# Our options; sacreBLEU's for BLEU and for chrF.
SETTINGS = [
    ("", {}, {}),
    ("--tokenize none --chrf-word-order 2", {"tokenize": "none"}, {"word_order": 2}),
    ("--lowercase --chrf-word-order 1", {"lowercase": True}, {"lowercase": True, "word_order": 1}),
    (
        "--tokenize none --lowercase --smooth-method none",
        {"tokenize": "none", "lowercase": True, "smooth_method": "none"},
        {"lowercase": True},
    ),
    ("--smooth-method floor", {"smooth_method": "floor"}, {}),
    (
        "--smooth-method floor --smooth-value 0.25",
        {"smooth_method": "floor", "smooth_value": 0.25},
        {},
    ),
    ("--smooth-method add-k", {"smooth_method": "add-k"}, {}),
    (
        "--smooth-method add-k --smooth-value 0.5 --tokenize none",
        {"smooth_method": "add-k", "smooth_value": 0.5, "tokenize": "none"},
        {},
    ),
]
WIDTHS = (1, 4)


def read(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line.rstrip() for line in file]


# --- edits of a line, each with its own random numbers
# ---------------------------------------------------------------

SPACES = ["  ", "\t", "\u00a0", "\u3000", "\u2009", " \u2028 ", "\x1f"]
ODD = [
    "ΟΔΟΣ",
    "ΑΣ ΤΟ",
    "Straße",
    "STRASSE",
    "İstanbul",
    "ÀÉÎÕÜ",
    "naïve",
    "e\u0301te\u0301",
    "北京大学",
    "ｆｕｌｌ",
    "Привет",
    "ДОМ",
    "🙂🙃",
    "👩‍👩‍👧",
    "مرحبا",
    "नमस्ते",
    "ǅ",
    "ẞ",
    "Ω",
    "K",
    "Ⅷ",
    "Ⓐ",
    "𝒜",
    "𐐀",
    "\u00ad",
    "ﬁne",
]
MARKS = [
    "...",
    "?!",
    "(a)",
    "[b]",
    "{c}",
    "<d>",
    '"e"',
    "'f'",
    "g/h",
    "i_j",
    "k@l",
    "#m",
    "$5",
    "%",
    "&",
    "&amp;",
    "&lt;p&gt;",
    "&quot;",
    "&amp;lt;",
    "<skipped>",
    "~",
    "^",
    "`",
    "|",
    "\\",
    "*",
    "+",
    "=",
    "--",
    "-",
    "a-b",
    "9-b",
    "1-2",
    "–",
    "—",
    "„so“",
    "«so»",
    "…",
    ".,.",
    ",,",
    "U.S.",
    "e.g.",
    "1.",
    ".1",
    "@@",
    "''",
    "``",
]
NUMBERS = [
    "1,000.50",
    "3.14",
    "1.000,5",
    "12:30",
    "10%",
    "$9.99",
    "-5",
    "2-3",
    "007",
    "1,",
    ",1",
    "5.",
    "1e-5",
    "½",
    "١٢٣",
    "4.5.6",
    "1-",
    "20,-",
    "9.-9",
]


def words(change):
    return lambda rng, line: " ".join(change(rng, line.split(" ")))


def inserted(pool):
    def change(rng, tokens):
        for _ in range(rng.randrange(3)):
            tokens.insert(rng.randrange(len(tokens) + 1), rng.choice(pool))
        return tokens

    return words(change)


def shuffled(rng, tokens):
    rng.shuffle(tokens)
    return tokens


def swapped(rng, tokens):
    if len(tokens) > 1:
        i = rng.randrange(len(tokens) - 1)
        tokens[i], tokens[i + 1] = tokens[i + 1], tokens[i]
    return tokens


def respaced(rng, line):
    out = "".join(rng.choice(SPACES) if c == " " and rng.random() < 0.3 else c for c in line)
    return rng.choice(["", " ", "\t"]) + out + rng.choice(["", " ", "\u00a0", "\r"])


def noisy_characters(rng, line):
    letters = list(line)
    for i in range(len(letters)):
        if rng.random() < 0.1:
            letters[i] = chr(
                rng.choice(
                    [
                        rng.randrange(0x21, 0x7F),
                        rng.randrange(0xA1, 0x250),
                        rng.randrange(0x370, 0x530),
                        rng.randrange(0x1E00, 0x2000),
                    ]
                )
            )
    return "".join(letters)


EDITS = {
    "same": lambda rng, line: line,
    "dropped": words(lambda rng, t: [w for w in t if rng.random() > 0.2]),
    "doubled": words(lambda rng, t: [w for w in t for _ in range(rng.choice([1, 1, 1, 2, 3]))]),
    "shuffled": words(shuffled),
    "swapped": words(swapped),
    "reversed": words(lambda rng, t: t[::-1]),
    "cut": words(lambda rng, t: t[: rng.randrange(len(t) + 1)]),
    "tiny": words(lambda rng, t: t[: rng.randrange(4)]),
    "two_words": words(lambda rng, t: t[:2]),
    "empty": lambda rng, line: "" if rng.random() < 0.3 else line,
    "all_empty": lambda rng, line: "",
    "upper": lambda rng, line: line.upper(),
    "title": lambda rng, line: line.title(),
    "unicode": inserted(ODD),
    "marks": inserted(MARKS),
    "numbers": inserted(NUMBERS),
    "spaces": respaced,
    "glued": lambda rng, line: "".join("" if c == " " and rng.random() < 0.3 else c for c in line),
    "characters": noisy_characters,
    "disjoint": lambda rng, line: "".join(
        chr(0x4E00 + rng.randrange(2000)) if c != " " else c for c in line
    ),
    "longer": lambda rng, line: line + " " + line,
}


def pairs(data, folder):
    """(name, hypothesis file, reference file), all written to `folder`."""
    made = []

    def add(name, hypotheses, references):
        paths = [os.path.join(folder, f"{len(made)}.{kind}") for kind in ("hyp", "ref")]
        for path, lines in zip(paths, (hypotheses, references)):
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in lines)
        made.append((name, *paths))

    multi, iwslt = (lambda name: read(os.path.join(data, "multi30k", name))), (
        lambda name: read(os.path.join(data, "iwslt14", name))
    )
    texts = {
        "tok.en": multi("test2016.en"),
        "raw.en": multi("test2016.raw.en"),
        "tok.de": multi("test2016.de"),
        "raw.de": multi("test2016.raw.de"),
        "iwslt.en": iwslt("valid.en")[:500],
        "iwslt.de": iwslt("valid.de")[:500],
    }
    for language in ("en", "de"):
        add(f"raw against tokenised {language}", texts["raw." + language], texts["tok." + language])
        add(f"tokenised against raw {language}", texts["tok." + language], texts["raw." + language])
    for kind in ("tok", "raw", "iwslt"):
        add(f"untranslated {kind}", texts[kind + ".de"], texts[kind + ".en"])
    for name in ("raw.en", "tok.de", "iwslt.en"):
        lines = texts[name]
        add(f"next line {name}", lines[1:] + lines[:1], lines)
    for edit, change in EDITS.items():
        for name in (
            ("tok.en", "raw.de")
            if edit in ("same", "upper", "disjoint", "all_empty")
            else ("tok.en", "raw.en", "raw.de", "iwslt.de")
        ):
            rng = random.Random(f"{edit} {name}")
            lines = texts[name][: rng.choice([40, 200, 400])]
            add(f"{edit} {name}", [change(rng, line) for line in lines], lines)
    rng = random.Random("both sides")
    for edit in ("unicode", "marks", "numbers", "characters", "spaces", "empty"):
        lines = [EDITS["swapped"](rng, line) for line in texts["raw.en"][:300]]
        add(
            f"{edit} on both sides",
            [EDITS[edit](rng, line) for line in lines],
            [EDITS[edit](rng, line) for line in lines],
        )
    for i in range(40):  # files of one line, where smoothing decides
        line = rng.choice(texts[rng.choice(sorted(texts))])
        edits = rng.sample(sorted(EDITS), 2)
        add(
            f"one line, {' and '.join(edits)}",
            [EDITS[edits[1]](rng, EDITS[edits[0]](rng, line))],
            [line],
        )
    return made


def of_command_line(hypotheses, references, width):
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "sacrebleu",
            references,
            "-i",
            hypotheses,
            "-m",
            "bleu",
            "chrf",
            "-f",
            "text",
            "-w",
            str(width),
            "-q",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    # it puts the = of several scores under one another
    return [line.strip() for line in run.stdout.splitlines() if line]


def of_interface(row, hypotheses, references, widths):
    metrics = BLEU(force=True, **SETTINGS[row][1]), CHRF(**SETTINGS[row][2])
    scores = [metric.corpus_score(read(hypotheses), [read(references)]) for metric in metrics]
    return [
        [
            score.format(width, signature=metric.get_signature().format())
            for metric, score in zip(metrics, scores)
        ]
        for width in widths
    ]


def main():
    if len(sys.argv) < 3 or len(sys.argv) % 2 == 0:
        sys.exit(__doc__)
    data, program = sys.argv[1:3]
    data = os.environ.get("DATA", "") if data == "-" else data
    if not data:
        print("skipped: the environment variable DATA is not set")
        sys.exit(77)
    compared = different = 0
    with tempfile.TemporaryDirectory() as folder:
        made = pairs(data, folder)
        if sys.argv[1] == "-" and not os.environ.get("NINE_EVERY_CASE"):
            made = made[turn(8) :: 8]
        made = made + [(h, h, r) for h, r in zip(sys.argv[3::2], sys.argv[4::2])]
        for name, hypotheses, references in made:
            for row, (options, _, _) in enumerate(SETTINGS):
                theirs = of_interface(row, hypotheses, references, WIDTHS)
                if row == 0:
                    theirs.append(of_command_line(hypotheses, references, WIDTHS[-1]))
                for width, lines in zip((*WIDTHS, WIDTHS[-1]), theirs):
                    run = subprocess.run(
                        [
                            program,
                            "--score",
                            "--input",
                            hypotheses,
                            "--reference",
                            references,
                            *options.split(),
                            "--width",
                            str(width),
                        ],
                        capture_output=True,
                        text=True,
                    )
                    compared += 1
                    if run.stdout.splitlines() != lines:
                        different += 1
                        print(
                            f"{name} {options}\n  ours   {run.stdout.splitlines()} {run.stderr}\n  theirs {lines}",
                            flush=True,
                        )
    print(f"{len(made)} pairs of files, {compared} comparisons, {different} different")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
