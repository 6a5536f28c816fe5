#!/usr/bin/env python3
"""Compares bpe with subword-nmt: the checksums that tests/data/test_bpe.cpp expects, made again by
the real tools.

  bpe_reference.py NINE_TESTS            exit 0: the same, 1: different, 77 skipped: a tool or DATA is missing
  bpe_reference.py --print TEXT [DATA]   prints them

TEXT is the generated text of the first test (`NINE_BPE_TEXT=FILE build/bin/nine_tests
--test-case='bpe: codes*'` writes it), DATA the folder that holds multi30k/ and iwslt14/. Files are
opened with newline="", so that LF, CRLF and CR end lines and nothing else does.
"""
import io
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from subword_nmt import apply_bpe, get_vocab, learn_bpe
except ImportError as error:
    print(f"skipped: subword-nmt or sacreBLEU is not installed ({error})")
    sys.exit(77)

learn_bpe.tqdm = lambda iterator: iterator


def checksum(text):
    h = 14695981039346656037
    for byte in text.encode():
        h = ((h ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return f"{h:x}"


def opened(*paths):
    return io.StringIO(
        "".join(open(path, encoding="utf-8", newline="").read() for path in paths), newline=""
    )


def learned(paths, *arguments, **options):
    out = io.StringIO()
    learn_bpe.learn_bpe(opened(*paths), out, *arguments, **options)
    return out.getvalue()


def applied(path, codes, dropout=0, **options):
    bpe = apply_bpe.BPE(io.StringIO(codes), **options)
    return "".join(bpe.process_line(line, dropout) for line in opened(path))


def checksums(text, data_folder=None):
    """Pairs of a name and a checksum, or a number as text."""
    made = []
    show = lambda name, value: made.append((name, checksum(value)))
    show("TEXT", opened(text).read())
    codes = learned([text], 1500)
    show("CODES", codes)
    vocabulary = io.StringIO()
    get_vocab.get_vocab(io.StringIO(applied(text, codes), newline=""), vocabulary)
    show("VOCABULARY", vocabulary.getvalue())
    show("TOTAL", learned([text], 400, min_frequency=5, total_symbols=True))
    show("APPLY", applied(text, codes))
    show("APPLY_MERGES", applied(text, codes, merges=300))
    allowed = apply_bpe.read_vocabulary(io.StringIO(vocabulary.getvalue(), newline="\n"), 30)
    show("APPLY_VOCABULARY", applied(text, codes, vocab=allowed))
    show("APPLY_GLOSSARIES", applied(text, codes, glossaries=["old", "b[ao]", "ß"]))
    patterns = [r"\w+ß\w*", "(?<=[aä]).u", r"\d+", "^[^a-z]{1,2}"]
    show("APPLY_PATTERNS", applied(text, codes, glossaries=patterns))
    random.seed(7)
    show("APPLY_DROPOUT", applied(text, codes, 0.1))
    show("APPLY_SEPARATOR", applied(text, codes, separator="~"))
    random.seed(2**40 + 5)
    made.append(("LARGE", repr(random.random())))
    for data, prefix in (("multi30k/train", "M"), ("iwslt14/valid", "I")) if data_folder else ():
        source, target = (
            os.path.join(data_folder, f"{data}.{language}") for language in ("de", "en")
        )
        codes = learned([source, target], 10000)
        show(prefix + "_CODES", codes)
        show(prefix + "_DE", applied(source, codes))
        show(prefix + "_EN", applied(target, codes))
    for language in ("de", "en") if data_folder else ():
        raw = opened(os.path.join(data_folder, f"multi30k/train.raw.{language}"))
        show(
            "RAW_" + language.upper(), "".join(Tokenizer13a()(line.rstrip()) + "\n" for line in raw)
        )
    return made


def main():
    if sys.argv[1] == "--print":
        for name, value in checksums(*sys.argv[2:]):
            print(f"{name:20} {value}")
        return 0
    data = os.environ.get("DATA")
    if not data:
        print("skipped: the environment variable DATA is not set")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "text")
        subprocess.run(
            [sys.argv[1], "--test-case=bpe: codes*"],
            env={**os.environ, "NINE_BPE_TEXT": text},
            stdout=subprocess.DEVNULL,
        )
        made = checksums(text, data)
    expected = (pathlib.Path(__file__).resolve().parents[1] / "data/test_bpe.cpp").read_text()
    wrong = [f"{name} {value}" for name, value in made if value not in expected]
    print(
        "\n".join(f"not in tests/data/test_bpe.cpp: {w}" for w in wrong)
        or f"{len(made)} checksums are those of tests/data/test_bpe.cpp"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
