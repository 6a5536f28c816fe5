"""The programs of docs/python.md and README.md run."""

import contextlib
import io
import pathlib
import re

import pytest
import torch

import programs

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = [
    (page, program)
    for page in ("README.md", "docs/python.md")
    for program in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the programs of docs/python.md name: small models of the built-in texts."""
    folder = tmp_path_factory.mktemp("page")
    small = ["--sample", "--layers", 1, "--hidden", 16, "--threads", 1, "--after", "20u"]
    programs.run("lm_train", *small, "--embed", 16, "--sample-sentences", 300, "--run",
                 folder / "runs/demo")  # fmt: skip
    programs.run(
        "mt_train", *small, "--ffn", 16, "--sample-pairs", 300, "--run", folder / "runs/mt"
    )
    text = folder / "text.txt"
    text.write_text("\n".join(programs.sentences(100)) + "\n")
    programs.run("bpe", "learn", "--input", text, "--output", folder / "codes", "--merges", 50)
    return folder


@pytest.mark.parametrize("page, program", PROGRAMS)
def test_program(page, program, request, monkeypatch, tmp_path):
    if "transformers" in program:
        pytest.importorskip("transformers")
    if "nine.runs" in program:
        pytest.importorskip("pandas")
    if '"runs' in program or '"codes' in program:
        if not programs.BIN:
            pytest.skip("NINE_BIN does not name Nine's programs")
        monkeypatch.chdir(request.getfixturevalue("folder"))
    else:
        monkeypatch.chdir(tmp_path)
    given = {"h": torch.randn(6, 512), "target": torch.arange(6)} if page == "README.md" else {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program, page, "exec"), given)


def test_every_page_has_programs():
    assert {page for page, _ in PROGRAMS} == {"README.md", "docs/python.md"}
