#!/usr/bin/env python3
"""The tests of the Python package (docs/python.md), which pip has installed.

  python_package.py TESTS PROGRAMS

PROGRAMS is the folder of Nine's programs, with which the package is compared.

Exit 0 fine, 1 wrong, 77 skipped: the package, PyTorch or pytest is not installed.
"""
import os
import sys

try:
    import nine.torch  # noqa: F401
    import pytest
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

os.environ["NINE_BIN"] = sys.argv[2]
# Not from the tree, whose package has no compiled module.
sys.exit(1 if pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[1]]) else 0)
