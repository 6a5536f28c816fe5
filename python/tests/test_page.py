"""The programs of docs/python.md and README.md run."""

import contextlib
import io
import pathlib
import re

import pytest
import torch

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = [
    (page, program)
    for page in ("README.md", "docs/python.md")
    for program in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
]


@pytest.mark.parametrize("page, program", PROGRAMS)
def test_program(page, program):
    given = {"h": torch.randn(6, 512), "target": torch.arange(6)} if page == "README.md" else {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program, page, "exec"), given)


def test_every_page_has_programs():
    assert {page for page, _ in PROGRAMS} == {"README.md", "docs/python.md"}
