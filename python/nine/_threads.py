"""The number of threads: set_threads()'s, or else that of the framework that calls."""

from . import _nine

_chosen = False


def set_threads(count: int) -> None:
    """Sets the number of threads. Until then nine.torch uses torch.get_num_threads()."""
    global _chosen
    _nine.set_threads(count)
    _chosen = True


def follow(count: int) -> None:
    """Uses `count` threads unless set_threads() was called."""
    if not _chosen and _nine.threads() != count:
        _nine.set_threads(count)
