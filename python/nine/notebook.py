"""Explanations and figures that a notebook shows by themselves."""

from __future__ import annotations

import html
import operator
import os
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from . import _nine
from ._nine import UsageError

__all__ = ["Experiment", "Explanation", "Figure", "experiment", "experiments", "explain", "plot"]


class Explanation:
    """A worked example of a head, forward and backward. A notebook shows its page; print() shows its
    lines.

    results: the numbers that both the derivation and the library computed, by symbol: "L",
    "dL/dh", "dL/dw_1", ...; html: the page; text: the lines.
    """

    def __init__(self, name: str, numbers: _nine.ExampleNumbers):
        self.name = name
        self.html: str = _nine.explain_page(name, numbers)
        self.text: str = _nine.explain_text(name, numbers)
        self.results: Dict[str, np.ndarray] = {
            symbol: np.array(values) for symbol, values in _nine.example_results(name, numbers)
        }

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page as one HTML file that fetches nothing."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        # A frame keeps the page's style and scripts apart from those of the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" title="nine.explain: '
            f'{html.escape(self.name)}" style="width: 100%; height: 40em; border: 0"></iframe>'
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Explanation({self.name!r})"


def _rows(given: Any, name: str) -> List[List[float]]:
    rows = np.asarray(given, dtype=np.float64)
    if rows.ndim < 2:
        raise ValueError(f"{name} has the shape {rows.shape}, and two dimensions were expected")
    return rows.reshape(-1, rows.shape[-1]).tolist()


def explain(
    head: str, h: Any = None, w: Any = None, y: int = 0, *, prior: Any = None, context: Any = None
) -> Explanation:
    """Explains the loss of a head and its gradients, rule by rule and with numbers.

    head: a head string, or another name that `kernel_inspect --explain` takes, such as "softmax" or
    "margin=cos:0.3". Without numbers, the page also has a plane whose vectors can be moved.

    h (d), w (words, d), y: a context, the vectors of at most eight words and the right word.
    Vectors have at most eight numbers; more fit on no page. prior (K, d) and context (K, d, d) are
    those of kernel_cross_entropy, for mixtures; without them all components have the same
    probability, and context is the unit matrix. Arrays may be lists, NumPy arrays or tensors
    without a gradient. Error: UsageError.
    """
    if (h is None) != (w is None):
        raise UsageError("h and w belong together: give both, or neither for the usual example")
    if h is None:
        if y != 0 or prior is not None or context is not None:
            raise UsageError("y, prior and context need h and w")
        return Explanation(head, _nine.ExampleNumbers([], [], 0, [], []))
    vector = np.asarray(h, dtype=np.float64)
    if vector.ndim == 2 and len(vector) == 1:
        vector = vector[0]
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"h has the shape {vector.shape}, and one context, (d), was expected")
    spec = _nine.Head(head)
    d = vector.size
    if prior is None:
        prior = np.zeros((spec.size if spec.mixture else 0, d))
    if context is None:
        context = np.tile(np.eye(d), (spec.size if spec.contexts else 0, 1))
    numbers = _nine.ExampleNumbers(
        vector.tolist(),
        _rows(w, "w"),
        operator.index(y),
        _rows(prior, "prior"),
        _rows(context, "context"),
    )
    return Explanation(head, numbers)


class Figure:
    """A figure as SVG, which a notebook shows."""

    def __init__(self, svg: str):
        self.svg = svg

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the SVG file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        return self.svg


def plot(*kernels: str, low: float = 0.0, high: float = 6.0) -> Figure:
    """Draws the score of kernels and its slope over q = |w - h|^2; for kernels of the product, over
    z = w.h; for margins such as "cos:0.3", over the angle. Without kernels: rbf, wav, log and pow.

    low, high: the range of q or z. Error: a kernel that is not finite in the range.
    """
    return Figure(_nine.plot_svg(",".join(kernels) or "rbf,wav,log,pow", low, high))


class Experiment(Figure):
    """An experiment: its figure, which a notebook shows, and its text, which print() shows."""

    def __init__(self, name: str):
        self.name = name
        self.text, svg = _nine.show(name)
        super().__init__(svg)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Experiment({self.name!r})"


def experiments() -> List[Tuple[str, str]]:
    """Returns the names of the experiments on the ideas behind the kernels, and their questions."""
    return _nine.experiments()


def experiment(name: str) -> Experiment:
    """Runs an experiment of `kernel_inspect --show`."""
    return Experiment(name)
