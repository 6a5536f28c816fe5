"""Nine: an output layer that scores words by kernels, and what is trained with it.

nine.torch has the output layer for PyTorch: kernel_cross_entropy and KernelSoftmax. LanguageModel,
Translator, Tokenizer and rescore use models that the programs trained; runs and log read their
runs. explain, plot and experiment show heads in a notebook. docs/python.md shows all.
"""

from ._nine import (
    Error,
    Head,
    UsageError,
    WordErrors,
    kernels,
    presets,
    set_matmul_precision,
    threads,
)
from ._nine import version as __version__
from ._threads import set_threads
from .language_model import Expectation, LanguageModel, WordSurprisal
from .notebook import Experiment, Explanation, Figure, experiment, experiments, explain, plot
from .rescoring import Rescoring, read_n_best, rescore
from .runs import log, runs
from .tokenizer import Tokenizer
from .translator import Translation, Translator

__all__ = [
    "Error",
    "Expectation",
    "Experiment",
    "Explanation",
    "Figure",
    "Head",
    "LanguageModel",
    "Rescoring",
    "Tokenizer",
    "Translation",
    "Translator",
    "UsageError",
    "WordErrors",
    "WordSurprisal",
    "__version__",
    "experiment",
    "experiments",
    "explain",
    "kernels",
    "log",
    "plot",
    "presets",
    "read_n_best",
    "rescore",
    "runs",
    "set_matmul_precision",
    "set_threads",
    "threads",
]
