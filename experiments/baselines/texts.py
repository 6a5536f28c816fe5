"""Reads texts as Nine's programs do (docs/formats.md)."""
import re
import sys


def sentences(path):
    """The words of each line. Spaces and tabs alone separate words: a no-break space is in a word.
    Lines end with LF or CRLF."""
    with open(path, encoding="utf-8-sig", newline="\n") as lines:
        found = [line.removesuffix("\n").removesuffix("\r") for line in lines]
    for number, line in enumerate(found, 1):
        if "\r" in line:
            sys.exit(f"{path}: line {number} has a CR inside, which Nine's programs refuse")
    return [re.findall("[^ \t]+", line) for line in found]
