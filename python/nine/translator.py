"""Trained translation models, used on lists of lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _lines, _nine
from ._lines import Path, Progress
from .language_model import _sum

__all__ = ["Translation", "Translator"]


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation with its scores."""

    text: str  #: prose, or words, with subwords joined if codes or join were given
    tokens: List[str]  #: the words of the model's dictionary
    log_prob: float  #: natural log of its probability
    score: float  #: log_prob / length ** length_penalty, which ranks translations
    complete: bool  #: whether </s> ended it, and not max_length
    token_log_probs: np.ndarray  #: of each token and, if complete, of </s>
    #: (tokens, source tokens + 1): the attention of each token to the source's tokens and </s>;
    #: None unless attention=True
    attention: Optional[np.ndarray]
    #: pairs (i, j): token j attends most to token i of the source; empty unless attention=True
    alignment: List[Tuple[int, int]]


def _translation(found) -> Translation:
    *members, sources = found
    members.append([(i, j) for j, i in enumerate(sources)])
    return Translation(*members)


class Translator:
    """A translation model that mt_train made, or an ensemble of several, with its dictionaries.

    Each line is a sentence: prose for a model of `mt_train --raw`, otherwise words separated by
    spaces. The methods compute what the program
    mt_translate computes, with the same bits.

    batch: how many lines are computed at once; no result depends on it. max_unknown: the largest
    share of unknown tokens; a text with a larger share is an Error; 1 accepts any text. progress:
    True for a line on standard error, or a function of the numbers of finished and of all lines.
    """

    def __init__(
        self,
        path: Union[Path, Sequence[Path]],
        *,
        codes: Optional[Path] = None,
        vocabulary: Optional[Path] = None,
        vocabulary_threshold: int = 0,
        glossaries: Iterable[str] = (),
        raw: bool = False,
        join: bool = False,
        detokenize: str = "none",
        language: str = "en",
    ):
        """Opens a run of mt_train (its best checkpoint) or a checkpoint; a list of them is an
        ensemble, whose probabilities are the mean of the models'.

        codes: BPE codes that cut the input's words into subwords, as Tokenizer does with them; the
        subwords of translations are joined. raw: the input is first split into words as sacreBLEU
        does it (13a). join: joins the subwords of translations without codes. detokenize: "moses"
        or "13a" joins subwords and makes prose of translations, as `mt_translate --detokenize`
        does; language: of the translations, for "moses". A model of `mt_train --raw` takes and
        gives prose without any of these. Error: there is no model; dictionaries or tokenizers that
        differ; one of these arguments for a model of raw text.
        """
        _lines.at_least("vocabulary_threshold", vocabulary_threshold, 0)
        self.paths = _lines.paths(path)
        self._model = _nine.Translator(
            self.paths,
            "" if codes is None else _lines.path(codes),
            "" if vocabulary is None else _lines.path(vocabulary),
            vocabulary_threshold,
            list(glossaries),
            raw,
            join,
            detokenize,
            language,
        )

    def __repr__(self) -> str:
        return f"Translator({self.paths[0] if len(self.paths) == 1 else self.paths!r})"

    @property
    def reads_prose(self) -> bool:
        """True for a model of `mt_train --raw`, which takes and gives prose."""
        return self._model.reads_prose

    @property
    def source_words(self) -> List[str]:
        """The words of the source's dictionary, by id."""
        return self._model.source_words()

    @property
    def target_words(self) -> List[str]:
        """The words of the target's dictionary, by id."""
        return self._model.target_words()

    @property
    def max_words(self) -> int:
        """The longest line that the model's positions allow, in tokens."""
        return self._model.max_words()

    def _text(self, max_unknown: float, skip_long: bool = False) -> _nine.TranslatorText:
        name = f"the model {self.paths[0]}"
        if len(self.paths) > 1:
            name = f"the ensemble of {len(self.paths)} models ({self.paths[0]}, ...)"
        return _nine.TranslatorText(name, max_unknown, skip_long)

    def _search(self, lines, prefixes, text, progress, **options) -> List[List[Translation]]:
        usual = {
            "beam": 1,
            "length_penalty": 1.0,
            "count_end": False,
            "n_best": 1,
            "samples": 0,
            "temperature": 1.0,
            "top_k": 0,
            "top_p": 1.0,
            "seed": 1,
        }
        found = self._model.translate(
            _lines.lines(lines),
            None if prefixes is None else _lines.lines(prefixes, "prefixes"),
            _nine.SearchOptions(**{**usual, **options}),
            text,
            _lines.progress(progress, "translate"),
        )
        return [[_translation(f) for f in line] for line in found]

    def translate(self, lines: Iterable[str], **options: Any) -> List[str]:
        """Returns the best translation of each line; an empty line's is empty. The options are those
        of n_best()."""
        return [line[0].text for line in self.n_best(lines, 1, **options)]

    def n_best(
        self,
        lines: Iterable[str],
        count: int = 5,
        *,
        beam: int = 5,
        length_penalty: float = 1.0,
        count_end: bool = False,
        max_length: int = 200,
        prefixes: Optional[Iterable[str]] = None,
        attention: bool = False,
        allow_unknown: bool = True,
        skip_long: bool = False,
        batch: int = 64,
        max_unknown: float = 0.5,
        progress: Progress = False,
    ) -> List[List[Translation]]:
        """Returns the `count` best translations of each line, best first, or fewer if the search
        finds fewer. An empty line has one empty translation.

        beam: the number of partial translations that the search keeps; 1: greedy. length_penalty:
        the exponent of the length by which log p is divided; count_end counts </s> in the length.
        max_length: most words of a translation. prefixes: words with which the translations begin,
        one text for each line. attention: the translations have attention and alignment.
        allow_unknown: False: no translation contains <unk>. skip_long: a line that is longer than
        max_words gets an empty translation and a warning, and is no Error.
        """
        return self._search(
            lines,
            prefixes,
            self._text(max_unknown, skip_long),
            progress,
            beam=beam,
            length_penalty=length_penalty,
            count_end=count_end,
            max_length=max_length,
            n_best=count,
            allow_unknown=allow_unknown,
            batch=batch,
            attention=attention,
        )

    def sample(
        self,
        lines: Iterable[str],
        samples: int = 1,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 1,
        max_length: int = 200,
        prefixes: Optional[Iterable[str]] = None,
        attention: bool = False,
        allow_unknown: bool = True,
        skip_long: bool = False,
        batch: int = 64,
        max_unknown: float = 0.5,
        progress: Progress = False,
    ) -> List[List[Translation]]:
        """Returns `samples` translations of each line whose words are drawn by chance; see
        LanguageModel.generate."""
        _lines.at_least("samples", samples, 1)
        return self._search(
            lines,
            prefixes,
            self._text(max_unknown, skip_long),
            progress,
            samples=samples,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            max_length=max_length,
            allow_unknown=allow_unknown,
            batch=batch,
            attention=attention,
        )

    def score_tokens(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        batch: int = 64,
        max_unknown: float = 0.5,
        progress: Progress = False,
    ) -> List[np.ndarray]:
        """Returns for each given translation the natural log-probabilities of its tokens and, last,
        of its end."""
        _lines.at_least("batch", batch, 1)
        from_, to = _lines.lines(sources, "sources"), _lines.lines(targets, "targets")
        if len(from_) != len(to):
            raise ValueError(
                f"there are {len(from_)} sources and {len(to)} targets: each source needs its "
                "translation"
            )
        log_p, lengths = self._model.score(
            from_, to, batch, self._text(max_unknown), _lines.progress(progress, "score")
        )
        return np.split(log_p, np.cumsum(lengths)[:-1]) if to else []

    def score(self, sources: Iterable[str], targets: Iterable[str], **options: Any) -> np.ndarray:
        """Returns the natural log-probability of each given translation, (lines), float64. The
        options are those of score_tokens()."""
        each = self.score_tokens(sources, targets, **options)
        return np.array([_sum(line) for line in each], dtype=np.float64)
