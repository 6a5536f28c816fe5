"""The package's types: mypy finds no error in them, and none in the programs of the pages."""

import pathlib
import shutil

import pytest

import nine
from test_page import PROGRAMS


def test_mypy(tmp_path):
    api = pytest.importorskip("mypy.api")
    # A copy, because mypy says nothing of installed packages.
    shutil.copytree(pathlib.Path(nine.__file__).parent, tmp_path / "nine")
    names = ["nine"]
    for i, (page, program) in enumerate(PROGRAMS):
        names.append(f"program_{i}.py")
        given = "import torch\nh = torch.zeros(2, 512)\ntarget = torch.arange(2)\n"
        (tmp_path / names[-1]).write_text((given if page == "README.md" else "") + program)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        out, errors, _ = api.run([*names, "--follow-imports=silent", "--ignore-missing-imports"])
    assert out.startswith("Success: no issues found"), out + errors
