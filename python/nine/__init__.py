"""Nine: an output layer that scores words by kernels, and its fused loss.

nine.torch has it for PyTorch: kernel_cross_entropy and KernelSoftmax. docs/python.md shows both.
"""

from ._nine import (
    Error,
    Head,
    UsageError,
    __version__,
    kernels,
    presets,
    set_matmul_precision,
    threads,
)
from ._threads import set_threads

__all__ = [
    "Error",
    "Head",
    "UsageError",
    "__version__",
    "kernels",
    "presets",
    "set_matmul_precision",
    "set_threads",
    "threads",
]
