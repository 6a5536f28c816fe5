#!/usr/bin/env python3
"""experiments/baselines/texts.py reads the words that lm_train reads: the dictionary has the same
words and counts.

  baseline_texts.py BIN     exit 0 fine, 1 wrong
"""
import collections
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments/baselines"))
sys.dont_write_bytecode = True
import texts  # noqa: E402

# Blanks and line ends of Unicode, which Python's split() and splitlines() cut at.
INSIDE = "\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2009\u2028\u2029\u202f\u205f\u3000"
LINES = ["a  b\t c ", "", " \t", *(f"a{blank}b c{blank} {blank}d" for blank in INSIDE), "end"]
wrong = []
with tempfile.TemporaryDirectory() as folder:
    text, run = pathlib.Path(folder, "text"), pathlib.Path(folder, "run")
    for end in ("\n", "\r\n"):
        text.write_bytes(b"\xef\xbb\xbf" + end.join(LINES).encode())
        small = "--layers 1 --hidden 4 --embed 4 --batch 1 --after 1u --threads 1 --restart"
        subprocess.run(
            [f"{sys.argv[1]}/lm_train", "--train", text, *small.split(), "--run", run],
            check=True,
            capture_output=True,
        )
        dictionaries = list(run.rglob("dict.txt"))
        lines = dictionaries[0].read_text("utf-8").split("\n")[:-1]
        known = dict(line.rsplit(" ", 1) for line in lines)
        found = texts.sentences(text)
        counts = collections.Counter(word for words in found for word in words)
        if {word: str(count) for word, count in counts.items()} != known:
            wrong.append(f"{end!r}: {counts} and {known}")
        if [len(words) for words in found] != [3, 0, 0, *[3] * len(INSIDE), 1]:
            wrong.append(f"{end!r}: {found}")
    text.write_bytes(b"a\rb\n")
    try:
        wrong.append(f"a CR inside a line is read: {texts.sentences(text)}")
    except SystemExit as error:
        if "line 1 has a CR inside" not in str(error):
            wrong.append(str(error))
print(*wrong, "wrong" if wrong else "fine", sep="\n")
sys.exit(1 if wrong else 0)
