"""Byte pair encoding (BPE) with the codes of `bpe learn` or subword-nmt."""

from __future__ import annotations

import os
import warnings
from typing import Iterable, List, Optional, Union

from . import _lines, _nine

__all__ = ["Tokenizer"]


class Tokenizer:
    """Cuts words into subwords and joins subwords, as `bpe apply` and `bpe undo` do."""

    def __init__(
        self,
        codes: Union[str, "os.PathLike[str]"],
        *,
        vocabulary: Optional[Union[str, "os.PathLike[str]"]] = None,
        vocabulary_threshold: int = 0,
        glossaries: Iterable[str] = (),
        separator: str = "@@",
        merges: int = -1,
        raw: bool = False,
    ):
        """Reads a file of codes.

        vocabulary: a file of the subwords that may be used, each with a count of at least
        vocabulary_threshold. glossaries: words that are not cut, or regular expressions for them.
        separator: the mark at the end of each subword that is not the last of its word. merges:
        only the first so many codes; -1: all. raw: the text is first split into words as sacreBLEU
        does it (13a). Error: a file that cannot be read, or that is something else.
        """
        if not separator or any(c <= " " for c in separator):
            raise ValueError(
                f"separator {separator!r} must be a text without spaces, tabs and ends of lines"
            )
        _lines.at_least("vocabulary_threshold", vocabulary_threshold, 0)
        if merges < -1:
            raise ValueError(f"merges is {merges}, and a number from 0 on, or -1, was expected")
        self.separator = separator
        self._tokenizer = _nine.Tokenizer(
            _lines.path(codes),
            "" if vocabulary is None else _lines.path(vocabulary),
            vocabulary_threshold,
            list(glossaries),
            separator,
            merges,
            raw,
        )

    def apply(self, lines: Iterable[str], *, dropout: float = 0.0, seed: int = 1) -> List[str]:
        """Returns the lines with their words cut: "foot@@ ball". dropout: each possible merge is
        left out with this probability (BPE-dropout), with the random numbers of subword-nmt."""
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout {dropout} must be from 0 to 1")
        text = _lines.lines(lines)
        joints = _nine.count_joints(text, self.separator)
        if joints:
            warnings.warn(
                f"{joints} words of the input end with {self.separator}, as if the input had been "
                "cut into subwords already; undo() joins subwords",
                stacklevel=2,
            )
        return self._tokenizer.apply(text, dropout, seed)

    def undo(
        self, lines: Iterable[str], *, detokenize: str = "none", language: str = "en"
    ) -> List[str]:
        """Returns the lines with their subwords joined to words. detokenize: "moses" or "13a" makes
        prose of the words, as `bpe undo --detokenize` does; language: of the text, for "moses"."""
        return _nine.undo_bpe(_lines.lines(lines), self.separator, detokenize, language)
