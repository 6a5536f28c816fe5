"""The programs of python/examples and python/bench at small size."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1]


def program(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gpt2(tmp_path):
    pytest.importorskip("transformers")
    perplexity = program("gpt2").main(
        "--steps 100 --length 16 --layers 1 --head lin log mix:2*lin,log".split()
    )
    assert set(perplexity) == {"lin", "log", "mix:2*lin,log"}
    # 23 words of equal probability would have the perplexity 23.
    assert all(1.5 < value < 15 for value in perplexity.values())
    text = tmp_path / "text"
    text.write_text("a b c d " * 100)
    small = "--steps 5 --length 8 --head lin --layers 1 --text"
    assert list(program("gpt2").main([*small.split(), str(text)])) == ["lin"]


def test_arcface():
    found = program("arcface").main(
        "--classes 50 --steps 80 --width 16 --batch 64 --lr 0.02".split()
    )
    fused, plain = found["losses"]["fused"], found["losses"]["plain"]
    assert fused == pytest.approx(plain, rel=1e-5)
    assert fused[-1] < 0.8 * fused[0] and found["accuracy"] > 0.3


def test_recommender():
    found = program("recommender").main("--items 300 --topics 20 --steps 120 --width 16".split())
    assert found["before"] < 0.15 and found["after"] > 0.4
    assert program("recommender").main(
        "--items 300 --topics 20 --steps 3 --width 16 --head mix:lin,log".split()
    )


def test_bench():
    measured = subprocess.run(
        [sys.executable, FOLDER / "bench/head.py", "--shape", "8,30,4", "--rounds", "1", "--head",
         "lin", "log", "mix:4*lin", "--threads", "1", "--without-compiled"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    parts = measured.strip().split("\n\n")
    assert len(parts) == 3
    for part in parts:
        losses = {
            line.split()[0]: float(line.split()[-1])
            for line in part.splitlines()
            if " loss " in line
        }
        assert losses["nine"] == pytest.approx(losses["torch"], rel=1e-4)
