"""Nine: an output layer that scores words by kernels, and what is trained with it.

nine.torch has the output layer for PyTorch: kernel_cross_entropy and KernelSoftmax. LanguageModel,
Translator, Tokenizer and rescore use models that the programs trained. docs/python.md shows all.
"""

from ._nine import (
    Error,
    Head,
    UsageError,
    WordErrors,
    __version__,
    kernels,
    presets,
    set_matmul_precision,
    threads,
)
from ._threads import set_threads
from .language_model import Expectation, LanguageModel
from .rescoring import Rescoring, read_n_best, rescore
from .tokenizer import Tokenizer
from .translator import Translation, Translator

__all__ = [
    "Error",
    "Expectation",
    "Head",
    "LanguageModel",
    "Rescoring",
    "Tokenizer",
    "Translation",
    "Translator",
    "UsageError",
    "WordErrors",
    "__version__",
    "kernels",
    "presets",
    "read_n_best",
    "rescore",
    "set_matmul_precision",
    "set_threads",
    "threads",
]
