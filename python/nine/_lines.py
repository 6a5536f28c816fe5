"""Lines of text as arguments, and progress."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Iterable, List, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]

#: A call with the finished and all lines (or other units), or True for a line on standard error.
Progress = Union[bool, Callable[[int, int], Any]]


def lines(given: Iterable[str], name: str = "lines", raw: bool = False) -> List[str]:
    """The lines as a list. Errors: not a list of texts; unless `raw`, an end of line or NUL within
    a line."""
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{name} is one text, and a list of lines was expected: pass [text]")
    texts = list(given)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{i}] is {type(text).__name__}, and a str was expected")
        if not raw and ("\n" in text or "\r" in text or "\0" in text):
            raise ValueError(
                f"{name}[{i}] has an end of line or a NUL character within it: split the text into "
                "lines"
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name}[{i}] has half of a surrogate pair at {error.start}, which no text has: read "
                'the text with the right encoding, without errors="surrogateescape"'
            ) from None
    # NumPy's strings are a subclass of str.
    return [str(text) for text in texts]


def path(given: Path) -> str:
    return os.fspath(given)


def paths(given: Union[Path, Sequence[Path]]) -> List[str]:
    """The paths of one file or of several."""
    if isinstance(given, (str, os.PathLike)):
        return [path(given)]
    return [path(each) for each in given]


def at_least(name: str, number: float, least: int) -> None:
    """ValueError: the number is below the least."""
    if not number >= least:
        raise ValueError(f"{name} {number} must be at least {least}")


class _Line:
    """Shows the progress as a line on standard error, which notebooks show too."""

    def __init__(self, what: str):
        self.what, self.last = what, -1

    def __call__(self, done: int, all_: int) -> None:
        percent = 100 * done // max(1, all_)
        if percent == self.last:
            return
        self.last = percent
        end = "\n" if done >= all_ else ""
        print(f"\r{self.what}: {percent}%", end=end, file=sys.stderr, flush=True)


def progress(given: Progress, what: str) -> Optional[Callable[[int, int], Any]]:
    if given is True:
        return _Line(what)
    return given or None
