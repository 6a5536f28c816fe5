#!/usr/bin/env python3
"""Compares `bpe undo --detokenize` with sacremoses' MosesDetokenizer, and counts the lines that come
back after tokenising.

  detokenize_reference.py BPE    exit 0: the same, 1: different, 77 skipped: a package is missing

The texts are Multi30k, IWSLT14 and Tatoeba (where $DATA names them), lines of this file, and random
lines of words. A line may differ only where docs/detokenizing.md says so; EXPLAINED has these rules.
"""

import os
import random
import re
import subprocess
import sys

try:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacremoses import MosesDetokenizer, MosesTokenizer
except ImportError as error:
    print(f"skipped: sacremoses or sacrebleu is not installed ({error})")
    sys.exit(77)

HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7af"
# Kinds of lines on which both may differ: docs/detokenizing.md, "Compared with sacremoses".
EXPLAINED = {
    "a space that is no U+0020": r"[^\S ]",
    "a quote of another form": r"[\u2018-\u201f\u00ab\u00bb\u2039\u203a]|``|''",
    "a currency sign behind a number": r"[0-9] [$\u00a3\u20ac]",
    "an ellipsis": r"(^| )[,.?!:;%}\]\)]*\u2026",
    "n't": r"(?i) n(&apos;|')t( |$)",
    "@/@ and others": r"(^| )@[/,.:]@( |$)",
    "a hyphen @-@ beside a mark": r"@-@ ([^\w]|&\w+;)|([^\w ]|&\w+;) @-@|(^|@-@ )@-@|@-@$",
    "Korean": f"[{HANGUL}]",
    "Wide forms": r"[\uff01-\uff64]",
    "an apostrophe before a Chinese character": "(&apos;|') [\u4e00-\u9fff]",
}
CASES = {
    "en": [
        "he said : &quot; hello ( there ) . &quot;",
        "it &apos;s the girls &apos; &quot; house &quot; , is n&apos;t it ?",
        "a well @-@ known price of $ 5.00 &amp; more : 50 % &#91; 1 &#93; &#124; &lt; b &gt;",
        "&apos; so , &apos; he said , &apos; it is . &apos;",
        "&amp;quot; &amp;amp;quot; &bar; &bra; x &ket; &unknown; &amp",
        "\u4f60 \u597d \u3002 hello \u4e16 \u754c !",
        "",
        " ",
        "  a   b  ",
        ", a",
        "( ( a ) )",
        "&apos;s",
        "\u20ac 5 ( \u00a3 7 ) \u00bf que ?",
        "a ! ? ... b ; c",
        "{ a } / b \\ c",
        "` x ` y",
        "&quot; &quot; &quot; &quot;",
    ],
    "fr": [
        "l&apos; eau qu&apos; il boit : c&apos; est aujourd&apos; hui ! 50 % ; non ?",
        "d&apos; 11",
    ],
    "it": [
        "l&apos; amico dell&apos; uomo , un po &apos;",
        "c&apos; \u00e8 &quot; l&apos; ora &quot;",
    ],
    "ga": ["b&apos; fhearr"],
    "de": ["geht &apos;s gut ? &quot; ja &quot; , 5 %", "er ( 30 ) &apos; s"],
    "zh": ["\u4f60 \u597d , \u4e16 \u754c .", "( \u4f60 ) \u597d"],
}
POOL = (
    "a b's cats ( ) [ ] { } , . ? ! : ; % \\ &quot; &apos; &apos;s &apos;re \" ' ` $ \u20ac @-@ 5 12,5 - -- / &amp; "
    "l&apos; qu&apos; \u00e9t\u00e9 Stra\u00dfe \u4f60 \u597d \u3042 \u00bf \u00a1 ... !? )) (( s 's x"
).split()


def undo(bpe, lines, *options):
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run(
        [bpe, "undo", "--detokenize", *options], input=text.encode(), capture_output=True
    )
    if done.returncode:
        sys.exit(done.stderr.decode())
    return done.stdout.decode().split("\n")[:-1]


class Comparison:
    def __init__(self, bpe):
        self.bpe, self.wrong = bpe, 0

    def same(self, name, lines, language):
        theirs = MosesDetokenizer(lang=language)
        expected = [theirs.detokenize(line.split()) for line in lines]
        found = undo(self.bpe, lines, "moses", "--language", language)
        kinds, unexplained = {}, []
        for line, ours, other in zip(lines, found, expected):
            if ours == other:
                continue
            why = [k for k, pattern in EXPLAINED.items() if re.search(pattern, line)]
            kinds[why[0] if why else "?"] = kinds.get(why[0] if why else "?", 0) + 1
            if not why:
                unexplained.append((line, ours, other))
        print(
            f"{name}, {language}: {len(lines)} lines, {len(unexplained)} unexplained, by kind {kinds}"
        )
        for line, ours, other in unexplained[:5]:
            print(f"  {line!r}\n    {ours!r}\n    {other!r}")
        self.wrong += len(unexplained) + (len(found) != len(lines))

    def back(self, name, raw, language):
        """Lines that come back after a tokeniser; ours must be as many as sacremoses'."""
        tokenizer, theirs = MosesTokenizer(lang=language), MosesDetokenizer(lang=language)
        cut = [
            tokenizer.tokenize(line, return_str=True, aggressive_dash_splits=True) for line in raw
        ]
        plain = [" ".join(line.split()) for line in raw]
        ours = undo(self.bpe, cut, "moses", "--language", language)
        other = [theirs.detokenize(line.split()) for line in cut]
        count = [sum(a == b for a, b in zip(plain, side)) for side in (ours, other)]
        print(
            f"{name}, {language}: {len(raw)} lines, back by us {count[0]}, by sacremoses {count[1]}"
        )
        self.wrong += count[0] < count[1]
        self.same(name + ", Moses", cut, language)
        words = Tokenizer13a()
        ours = undo(self.bpe, [words(line) for line in raw], "13a")
        count = sum(a == b for a, b in zip(plain, ours))
        print(f"{name}, 13a: {len(raw)} lines, back {count}")
        self.wrong += count < 0.98 * len(raw)


def read(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def main():
    c = Comparison(sys.argv[1])
    rng = random.Random(1)
    for language, lines in CASES.items():
        c.same("cases", lines, language)
    for language in ("en", "fr", "it", "ga", "de", "zh"):
        lines = [" ".join(rng.choice(POOL) for _ in range(rng.randint(1, 12))) for _ in range(4000)]
        c.same("random", lines, language)
    data = os.environ.get("DATA", "")
    if not data:
        print("no $DATA: no corpora")
    for path, language in (
        ("multi30k/train.en", "en"),
        ("multi30k/train.de", "de"),
        ("iwslt14/valid.en", "en"),
        ("iwslt14/valid.de", "de"),
        ("tatoeba/test.en", "en"),
        ("tatoeba/test.de", "de"),
    ):
        if data:
            c.same(path, read(os.path.join(data, path)), language)
    for path, language in (
        ("multi30k/train.raw.en", "en"),
        ("multi30k/train.raw.de", "de"),
        ("tatoeba/test.raw.en", "en"),
        ("tatoeba/test.raw.de", "de"),
    ):
        if data:
            raw = read(os.path.join(data, path))
            c.back(path, raw, language)
    sys.exit(c.wrong > 0)


if __name__ == "__main__":
    main()
