"""Trained language models, used on lists of lines."""

from __future__ import annotations

import math
import os
import re
from typing import Iterable, List, NamedTuple, Tuple, Union

import numpy as np

from . import _lines, _nine
from ._lines import Progress

__all__ = ["Expectation", "LanguageModel", "WordSurprisal"]


class Expectation(NamedTuple):
    """What a model expected before a word."""

    word: str  #: as it is in the text; </s> after the last word
    known: bool  #: whether the vocabulary has the word
    log_p: float  #: natural log of the word's probability
    rank: int  #: of the word; 1: the most likely
    top: List[Tuple[str, float]]  #: the most likely words with log p, most likely first


class WordSurprisal(NamedTuple):
    """A word of a raw text."""

    begin: int  #: its first character in the text
    end: int  #: the character behind its last
    word: str
    bits: float  #: its surprisal, which counts that the word ends


class LanguageModel:
    """A language model that lm_train made, with its vocabulary.

    Each line is a sentence of words separated by spaces, cut as the training text was. For a model
    of raw text (`raw`, lm_train --text) each line is any text as it stands; it may have ends of
    lines, and no end is added. The methods compute what the program lm_score computes, with the
    same bits.

    max_unknown: the largest share of unknown words; a text with a larger share is an Error, because
    the vocabulary does not fit the text; 1 accepts any text. batch_tokens: how many positions are
    computed at once. progress: True for a line on standard error, or a function of the numbers of
    finished and of all lines.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]):
        """Opens a run of lm_train (its best checkpoint), a checkpoint, or a directory with
        model.safetensors and dict.txt. Error: there is no model."""
        self.path = _lines.path(path)
        self._model = _nine.LanguageModel(self.path)
        self.words: List[str] = self._model.words()  #: by id, with </s> and <unk>
        self._known = set(self.words)
        self.raw: bool = self._model.raw  #: whether it reads raw text

    @property
    def head(self) -> str:
        """The head string of the output layer."""
        return self._model.head

    def __repr__(self) -> str:
        return f"LanguageModel({self.path!r}, {len(self.words)} words, head={self.head!r})"

    def _text(self, given: Iterable[str], max_unknown: float) -> List[str]:
        text = _lines.lines(given, raw=self.raw)
        if not self.raw:
            self._model.check_text(text, max_unknown, f"the model {self.path}")
        return text

    def _log_p(self, text, carry_state, batch_tokens, undo_margin, progress):
        return self._model.score(
            text, carry_state, batch_tokens, undo_margin, _lines.progress(progress, "score")
        )

    def score(
        self,
        lines: Iterable[str],
        *,
        carry_state: bool = False,
        undo_margin: float = 0.0,
        batch_tokens: int = 4096,
        max_unknown: float = 0.5,
        progress: Progress = False,
    ) -> np.ndarray:
        """Returns the natural log-probability of each line with its end, (lines), float64.

        carry_state: all lines are cut into 10 columns, and the state is carried through each
        column, as in validation. undo_margin: the size M of a margin cos:M of training, whose
        effect on the probabilities is removed.
        """
        each = self.score_tokens(
            lines,
            carry_state=carry_state,
            undo_margin=undo_margin,
            batch_tokens=batch_tokens,
            max_unknown=max_unknown,
            progress=progress,
        )
        # Added in the order of the words, as lm_score does: np.sum would add pairs.
        return np.array([_sum(line) for line in each], dtype=np.float64)

    def score_tokens(
        self,
        lines: Iterable[str],
        *,
        carry_state: bool = False,
        undo_margin: float = 0.0,
        batch_tokens: int = 4096,
        max_unknown: float = 0.5,
        progress: Progress = False,
    ) -> List[np.ndarray]:
        """Returns for each line the natural log-probabilities of its words and, last, of its end."""
        text = self._text(lines, max_unknown)
        log_p, lengths = self._log_p(text, carry_state, batch_tokens, undo_margin, progress)
        return np.split(log_p, np.cumsum(lengths)[:-1]) if text else []

    def perplexity(
        self,
        lines: Iterable[str],
        *,
        carry_state: bool = False,
        undo_margin: float = 0.0,
        batch_tokens: int = 4096,
        max_unknown: float = 0.5,
        progress: Progress = False,
    ) -> float:
        """Returns the perplexity of the text; the end of each line counts as a word."""
        text = self._text(lines, max_unknown)
        if not text:
            raise ValueError("lines is empty: there is no perplexity")
        log_p, _ = self._log_p(text, carry_state, batch_tokens, undo_margin, progress)
        return math.exp(-_sum(log_p) / len(log_p))

    def bits_per_byte(
        self,
        lines: Iterable[str],
        *,
        carry_state: bool = False,
        batch_tokens: int = 4096,
        progress: Progress = False,
    ) -> float:
        """Returns the bits per byte of a raw text, a figure that does not depend on its tokens.
        ValueError: a model of words; no text."""
        text = _lines.lines(lines, raw=True)
        size = sum(len(line.encode()) for line in text)
        if not self.raw or size == 0:
            raise ValueError(
                "lines is empty: there are no bits per byte"
                if self.raw
                else "bits per byte are for a model of raw text (lm_train --text)"
            )
        log_p, _ = self._log_p(text, carry_state, batch_tokens, 0.0, progress)
        return -_sum(log_p) / size / math.log(2)

    def word_surprisals(
        self, lines: Iterable[str], *, batch_tokens: int = 4096
    ) -> List[List[WordSurprisal]]:
        """Returns the words of each line with their surprisal, as lm_score --words does. Error: a
        model of words; a text that the tokenizer normalises."""
        text = _lines.lines(lines, raw=True)
        found = self._model.word_surprisals(text, batch_tokens)
        out = []
        for line, words in zip(text, found):
            raw = line.encode()
            of_line = []
            for begin, end, bits in words:
                first, word = len(raw[:begin].decode()), raw[begin:end].decode()
                of_line.append(WordSurprisal(first, first + len(word), word, bits))
            out.append(of_line)
        return out

    def top_words(
        self,
        lines: Iterable[str],
        count: int = 5,
        *,
        batch_tokens: int = 4096,
        max_unknown: float = 0.5,
        progress: Progress = False,
    ) -> List[List[Expectation]]:
        """Returns for each line what the model expected before each word and before the end, with
        the `count` most likely words."""
        text = self._text(lines, max_unknown)
        lengths, log_p, ranks, top, top_log_p = self._model.top_words(
            text, count, batch_tokens, _lines.progress(progress, "score")
        )
        expected, at = [], 0
        tokens = self._model.tokens(text) if self.raw else []
        for i, (line, length) in enumerate(zip(text, lengths)):
            words = (
                tokens[i]
                if self.raw
                else [word for word in re.split("[ \t]+", line) if word] + ["</s>"]
            )
            expected.append(
                [
                    Expectation(
                        word,
                        word in self._known,
                        float(log_p[i]),
                        int(ranks[i]),
                        [(self.words[v], float(p)) for v, p in zip(top[i], top_log_p[i])],
                    )
                    for i, word in zip(range(at, at + length), words)
                ]
            )
            at += length
        return expected

    def generate(
        self,
        prompts: Iterable[str] = ("",),
        *,
        max_words: int = 50,
        samples: int = 1,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        allow_unknown: bool = False,
        seed: int = 1,
        batch: int = 32,
        max_unknown: float = 0.5,
        progress: Progress = False,
    ) -> List[str]:
        """Returns `samples` continuations of each prompt, in the order of prompts and samples: the
        prompt and at most `max_words` more words.

        The empty prompt is the start of a sentence, or of a raw text. A model of raw text adds
        tokens; U+FFFD stands for a character that the text ends within. temperature 0 always takes the most likely
        word; top_k and top_p draw from the most likely words only; top_k 0 and top_p 1 from all.
        The seed determines the texts. Error: an option out of range.
        """
        _lines.at_least("max_words", max_words, 1)
        _lines.at_least("samples", samples, 1)
        return self._model.generate(
            self._text(prompts, max_unknown),
            max_words,
            samples,
            temperature,
            top_k,
            top_p,
            allow_unknown,
            batch,
            seed,
            _lines.progress(progress, "generate"),
        )


def _sum(numbers: np.ndarray) -> float:
    """The sum from the first to the last number; np.sum adds in another order."""
    return float(np.add.accumulate(numbers)[-1]) if len(numbers) else 0.0
