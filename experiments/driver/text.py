"""Corpora, read as the engine reads them: a sentence a line, words between ASCII's spaces alone (a
no-break space is part of a word)."""


def sentences(path):
    """The words of each line of a UTF-8 text."""
    with open(path, "rb") as lines:
        return [[word.decode() for word in line.split()] for line in lines]
