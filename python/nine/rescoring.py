"""Choosing among n-best hypotheses with language models, as lm_rescore does."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _lines, _nine
from ._lines import Progress
from ._nine import UsageError, WordErrors
from .language_model import LanguageModel

__all__ = ["Rescoring", "read_n_best", "rescore"]

_Scores = Union[float, Sequence[float]]
#: The hypotheses of an utterance, (score, words) or (scores, words) each; larger is better.
Hypotheses = Sequence[Tuple[_Scores, str]]
_LOG_ZERO = -1e10  # kLogZero of data/n_best.h
_Model = Union[str, "os.PathLike[str]", LanguageModel]


@dataclass(frozen=True, eq=False)
class Rescoring:
    """What rescore() chose, and how good it is."""

    texts: List[str]  #: the chosen words of each list
    chosen: np.ndarray  #: the index of the chosen hypothesis in each list
    log_p: List[np.ndarray]  #: of each list's hypotheses under the language models
    lambda_: float  #: the weight of log p
    mu: float  #: the weight of the number of words
    first_weights: List[float]  #: of several first-pass scores; empty: their sum counts
    # With references:
    errors: Optional[WordErrors] = None  #: of the chosen hypotheses
    first_errors: Optional[WordErrors] = None  #: of the hypotheses with the best scores
    oracle_errors: Optional[int] = None  #: of each list's hypothesis with the fewest errors
    bleu: Optional[float] = None  #: measure="bleu": of the chosen hypotheses
    first_bleu: Optional[float] = None


def read_n_best(
    path: Union[str, "os.PathLike[str]"],
    format: str = "tsv",
    *,
    cost: bool = False,
    allow_empty: bool = False,
    scores: Sequence[str] = (),
) -> List[Tuple[str, List[Tuple[Any, str]]]]:
    """Reads n-best lists: [(utterance, [(score, words), ...]), ...].

    format: 'tsv' (utterance, score and words, separated by tabs), 'srilm', 'kaldi', 'moses',
    'fairseq', 'espnet' or 'whisper' (docs/rescoring.md).
    cost: smaller scores are better, so their signs change. allow_empty: a hypothesis may have no
    words. scores: names of scores, or 'all', as lm_rescore --nbest-scores; several scores of a
    hypothesis are a tuple. Error, with file and line: a malformed line.
    """
    lists = _nine.read_n_best(_lines.path(path), format, cost, allow_empty, list(scores))
    return [
        (utterance, [(s[0] if len(s) == 1 else tuple(s), words) for s, words in hypotheses])
        for utterance, hypotheses in lists
    ]


def _numbers(score: _Scores) -> List[float]:
    try:
        return [float(score)]  # type: ignore[arg-type]
    except TypeError:
        return [float(x) for x in score]  # type: ignore[union-attr]


def _lists(lists: Iterable[Hypotheses], name: str, allow_empty: bool) -> List[List]:
    checked = []
    for i, hypotheses in enumerate(lists):
        texts = _lines.lines([words for _, words in hypotheses], f"{name}[{i}]")
        texts = [" ".join(w for w in re.split("[ \t]+", text) if w) for text in texts]
        if not texts:
            raise ValueError(f"{name}[{i}] has no hypotheses")
        if "" in texts and not allow_empty:
            raise ValueError(
                f"{name}[{i}] has a hypothesis without words; allow_empty=True takes such lists"
            )
        checked.append([(_numbers(score), text) for (score, _), text in zip(hypotheses, texts)])
    if not checked:
        raise ValueError(f"{name} is empty")
    width = len(checked[0][0][0])
    for i, hypotheses in enumerate(checked):
        for scores, _ in hypotheses:
            if len(scores) != width or width == 0:
                raise ValueError(
                    f"{name}[{i}] has a hypothesis with {len(scores)} scores, but the first one has "
                    f"{width}"
                )
    return checked


def _references(references: Iterable[str], lists: List, name: str) -> List[str]:
    texts = _lines.lines(references, name)
    if len(texts) != len(lists):
        raise ValueError(f"there are {len(lists)} lists and {len(texts)} {name}: one for each")
    return texts


def rescore(
    lists: Iterable[Hypotheses],
    models: Union[_Model, Sequence[_Model]],
    *,
    lambda_: Optional[float] = None,
    mu: float = 0.0,
    first_weights: Sequence[float] = (),
    tune: Optional[Tuple[Iterable[Hypotheses], Iterable[str]]] = None,
    references: Optional[Iterable[str]] = None,
    measure: str = "wer",
    interpolate: str = "linear",
    weights: Sequence[float] = (),
    batch_tokens: int = 4096,
    max_unknown: float = 0.5,
    allow_empty: bool = False,
    progress: Progress = False,
) -> Rescoring:
    """Chooses the hypothesis with the largest score + lambda_ * log p + mu * words of each list.

    lists: the hypotheses of each utterance as (score, words), where a larger score is better; -inf
    is the logarithm of 0. A hypothesis may have several scores, (scores, words). first_weights:
    their weights; without weights, `tune` finds them together with lambda_ and mu, and otherwise
    the sum counts. models: one or several language models, by path.
    tune: (lists, references) of other utterances, on which lambda_ and mu are found that make the
    measure best: 'wer', the word error rate, or 'bleu'. references: the right words of each list,
    for Rescoring.errors. interpolate: how several models are combined with `weights`: 'linear' adds
    probabilities word by word, 'log-linear' adds log-probabilities. max_unknown: as in
    LanguageModel, for the hypotheses with the best scores. Warns of what lm_rescore warns of: lists
    and references that do not belong together, or from which nothing follows.
    """
    if (lambda_ is None) == (tune is None):
        raise UsageError(
            "the language model has no weight: give tune=(lists, references) to tune it, or lambda_"
            if tune is None
            else "tune finds lambda_: leave one of them out"
        )
    if lambda_ is not None and lambda_ < 0:
        raise UsageError(f"lambda_ {lambda_} must be 0 or more")
    if measure not in ("wer", "bleu"):
        raise UsageError(f"measure is {measure!r}, and 'wer' or 'bleu' was expected")
    if lambda_ is None and mu != 0:
        raise UsageError("mu needs lambda_")
    given = [models] if isinstance(models, (str, os.PathLike, LanguageModel)) else models
    paths = [m.path if isinstance(m, LanguageModel) else _lines.path(m) for m in given]
    settings = (paths, interpolate, list(weights), batch_tokens, max_unknown)
    own = _lists(lists, "lists", allow_empty)
    width = len(own[0][0][0])
    first = [float(x) for x in first_weights]
    if first and len(first) != width:
        raise UsageError(f"first_weights has {len(first)} numbers for {width} first-pass scores")
    scored = _nine.NBestLists(own, "lists")
    right = None if references is None else _references(references, own, "references")
    tuning, expected, other = None, [], []
    if tune is not None:
        other = _lists(tune[0], "tune[0]", allow_empty)
        if len(other[0][0][0]) != width:
            raise ValueError(
                f"tune[0] has {len(other[0][0][0])} scores a hypothesis, but lists has {width}"
            )
        expected = _references(tune[1], other, "tune[1]")
        tuning = _nine.NBestLists(other, "tune[0]")
    for message in scored.warnings(right or [], tuning, expected):
        warnings.warn(message, stacklevel=2)
    for name, given_lists in ("lists", own), ("tune[0]", other):
        zeros = sum(min(scores) <= _LOG_ZERO for each in given_lists for scores, _ in each)
        if zeros > 0:
            warnings.warn(
                f"{name}: {zeros} hypotheses cannot be chosen, because their scores, -inf or -1e10 "
                "and below, are log zeros",
                stacklevel=2,
            )
    if tuning is not None:
        tuning.score(*settings, _lines.progress(progress, "tune"))
        if first:
            tuning.weigh(first)
        together = width > 1 and not first
        lambda_, mu, found, message = tuning.tune(expected, measure, together)
        first = found if together else first
        if message:
            warnings.warn(message, stacklevel=2)
    assert lambda_ is not None
    scored.score(*settings, _lines.progress(progress, "score"))
    if first:
        scored.weigh(first)
    chosen = scored.choose(lambda_, mu)
    texts = [hypotheses[i][1] for hypotheses, i in zip(own, chosen)]
    ends = np.cumsum([len(hypotheses) for hypotheses in own])[:-1]
    quality: Dict[str, Any] = {}
    if right is not None:
        before = [hypotheses[i][1] for hypotheses, i in zip(own, scored.first_choices())]
        quality["errors"] = _nine.count_word_errors(right, texts)
        quality["first_errors"] = _nine.count_word_errors(right, before)
        quality["oracle_errors"] = sum(
            int(errors.min()) for errors in np.split(scored.errors(right), ends)
        )
        if measure == "bleu":
            quality["bleu"] = _nine.bleu(texts, right)
            quality["first_bleu"] = _nine.bleu(before, right)
    return Rescoring(texts, chosen, np.split(scored.log_p(), ends), lambda_, mu, first, **quality)
