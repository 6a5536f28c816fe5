"""The programs of python/examples and python/bench at small size."""

import importlib.util
import math
import pathlib
import random
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
    draw = random.Random(1)
    text.write_text(" ".join(draw.choice("abcd") for _ in range(400)))
    small = "--steps 5 --length 8 --head lin --layers 1 --text"
    # 50 rows: the perplexity of the last 5 does not depend on how they are cut into batches.
    found = {}
    for batch in (2, 5):
        options = [*small.split(), str(text), "--lr", "0", "--batch", str(batch)]
        found[batch] = program("gpt2").main(options)
    assert list(found[2]) == ["lin"]
    assert found[2]["lin"] == pytest.approx(found[5]["lin"], rel=1e-5)


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


def test_arcface_over_100_000_classes():
    found = program("arcface").main(
        "--classes 100000 --steps 2 --width 32 --batch 32 --lr 0.02".split()
    )
    assert found["losses"]["fused"] == pytest.approx(found["losses"]["plain"], rel=1e-5)


def test_recommender_over_a_million_items():
    # Few topics and many items: three steps tell only that the loss is computed and falls.
    found = program("recommender").main(
        "--items 1000000 --topics 20 --steps 3 --width 16 --batch 64".split()
    )
    assert found["losses"][-1] < found["losses"][0]
    assert found["losses"][0] == pytest.approx(math.log(1e6), rel=0.01)


def test_bench(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- python/bench/head.py: begin -->\nold\n"
                    "<!-- python/bench/head.py: end -->\nafter\n")  # fmt: skip
    measured = subprocess.run(
        [sys.executable, FOLDER / "bench/head.py", "--shape", "8,30,4", "8,30,4:bfloat16",
         "--rounds", "1", "--head", "lin", "log", "mix:4*lin", "--threads", "1",
         "--without-compiled", "--page", page],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    parts = [part for part in measured.strip().split("\n\n") if "(N, V, d) =" in part]
    assert len(parts) == 6
    for part in parts:
        losses = {
            line.split()[0]: float(line.split()[-1])
            for line in part.splitlines()
            if " loss " in line
        }
        assert {"nine", "torch"} <= set(losses)
        limit = 2e-2 if "bfloat16" in part else 1e-4
        assert all(loss == pytest.approx(losses["torch"], rel=limit) for loss in losses.values())
    written = page.read_text()
    assert written.startswith("before\n") and written.endswith("after\n") and "old" not in written
    assert written.count("| Nine |") == 6
