#!/usr/bin/env python3
"""Prints the checksums in tests/data/test_bpe.cpp as the real tools make them.

  pip install subword-nmt==0.3.8 sacrebleu==2.6.0
  python3 tests/clients/bpe_reference.py TEXT [DATA]

TEXT is the generated text of the first test (`NINE_BPE_TEXT=FILE build/bin/nine_tests --test-case='bpe: codes*'` writes it), DATA
the folder that holds multi30k/ and iwslt14/. Files are opened with newline="", so that LF, CRLF and CR end lines and nothing else does.
"""
import io
import os
import random
import sys

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from subword_nmt import apply_bpe, get_vocab, learn_bpe

learn_bpe.tqdm = lambda iterator: iterator


def checksum(text):
    h = 14695981039346656037
    for byte in text.encode():
        h = ((h ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return f"{h:x}"


def opened(*paths):
    return io.StringIO("".join(open(path, encoding="utf-8", newline="").read() for path in paths), newline="")


def learned(paths, *arguments, **options):
    out = io.StringIO()
    learn_bpe.learn_bpe(opened(*paths), out, *arguments, **options)
    return out.getvalue()


def applied(path, codes, dropout=0, **options):
    bpe = apply_bpe.BPE(io.StringIO(codes), **options)
    return "".join(bpe.process_line(line, dropout) for line in opened(path))


def main():
    text = sys.argv[1]
    show = lambda name, value: print(f"{name:20} {checksum(value)}")
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
    random.seed(7)
    show("APPLY_DROPOUT", applied(text, codes, 0.1))
    show("APPLY_SEPARATOR", applied(text, codes, separator="~"))
    random.seed(2**40 + 5)
    print(f"{'LARGE':20} {random.random()!r}")
    for data, prefix in (("multi30k/train", "M"), ("iwslt14/valid", "I")) if len(sys.argv) > 2 else ():
        source, target = (os.path.join(sys.argv[2], f"{data}.{language}") for language in ("de", "en"))
        codes = learned([source, target], 10000)
        show(prefix + "_CODES", codes)
        show(prefix + "_DE", applied(source, codes))
        show(prefix + "_EN", applied(target, codes))
    for language in ("de", "en") if len(sys.argv) > 2 else ():
        raw = opened(os.path.join(sys.argv[2], f"multi30k/train.raw.{language}"))
        show("RAW_" + language.upper(), "".join(Tokenizer13a()(line.rstrip()) + "\n" for line in raw))


if __name__ == "__main__":
    main()
