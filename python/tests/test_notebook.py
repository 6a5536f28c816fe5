"""explain, plot, experiment; runs and log."""

import json
import re
import sys

import numpy as np
import pytest
import torch

import nine
import nine.torch
import programs
from programs import needs_programs, run


def reference(head, h, w, y, **weights):
    tensors = {"h": h, "weight": w, **weights}
    tensors = {
        k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in tensors.items()
    }
    h = tensors.pop("h")
    loss = nine.torch.kernel_cross_entropy(
        h[None], tensors.pop("weight"), torch.tensor([y]), head=head, **tensors
    )
    loss.backward()
    return loss.item(), h.grad.numpy()


@pytest.mark.parametrize(
    "head", ["lin", "log", "rbf:gamma=0.5", "pow:p=1", "hpb", "expr:{(z + 1)^2}", "log:p=learn:1"]
)
@pytest.mark.parametrize("words, size, y", [(3, 2, 0), (5, 4, 3), (1, 1, 0), (8, 8, 7)])
def test_explained_numbers_are_those_of_the_loss(head, words, size, y):
    draw = np.random.default_rng(words)
    h, w = draw.normal(size=size) * 0.3, draw.normal(size=(words, size)) * 0.3
    explained = nine.explain(head, h, w, y)
    numbers = {"numbers": [0.0]} if "learn" in head else {}
    loss, grad = reference(head, h, w, y, **numbers)
    assert explained.results["L"][0] == pytest.approx(loss, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(explained.results["dL/dh"], grad, rtol=1e-9, atol=1e-12)
    assert f"dL/dw_{words}" in explained.results
    assert f"word {y + 1} was right" in explained.text


@pytest.mark.parametrize("head", ["mix:lin,log", "mix:2*lin"])
def test_explained_mixtures(head):
    draw = np.random.default_rng(1)
    h, w = draw.normal(size=3), draw.normal(size=(4, 3))
    prior, context = draw.normal(size=(2, 3)), draw.normal(size=(2, 3, 3))
    explained = nine.explain(head, h, w, 2, prior=prior, context=context)
    loss, grad = reference(head, h, w, 2, prior=prior, context=context)
    assert explained.results["L"][0] == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(explained.results["dL/dh"], grad, rtol=1e-9)
    even = nine.explain(head, h, w, 2)
    loss, _ = reference(head, h, w, 2, prior=np.zeros((2, 3)), context=np.stack([np.eye(3)] * 2))
    assert even.results["L"][0] == pytest.approx(loss, rel=1e-12)


def test_pages(tmp_path):
    usual = nine.explain("log")
    shown = usual._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "allow-scripts" in shown
    assert "&lt;math" in shown and "<math" not in shown
    assert 'id="board"' in usual.html and "kernel_inspect --explain log" in usual.html
    own = nine.explain("log", [0.5, 1], [[1, 0], [0.25, 2], [1 / 3, 0.123456789]], 1)
    assert 'id="board"' not in own.html and "nine.explain log" in own.html
    own.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == own.html
    assert str(nine.explain("softmax")).startswith("softmax: p_v")


def test_explain_refuses():
    w = np.ones((3, 2))
    for arguments, message in [
        (("log", [1, 1]), "h and w belong together"),
        (("log", None, None, 1), "need h and w"),
        (("log", [1, 1], np.ones((9, 2))), "1 to 8 words"),
        (("log", np.ones(9), np.ones((3, 9))), "at most 8 numbers"),
        (("log", [1, 1], np.ones((3, 3))), "a row of w has 3 numbers"),
        (("log", [1, 1], w, 3), "target 3 is outside of the 3 words"),
        (("log", [1, np.nan], w), "not finite"),
        (("lug", [1, 1], w), "lug"),
        (("ssg", [1.0], np.ones((3, 1))), "ssg"),
    ]:
        with pytest.raises(nine.UsageError, match=message):
            nine.explain(*arguments)
    with pytest.raises(TypeError, match="integer"):
        nine.explain("log", [1, 1], w, 0.5)
    with pytest.raises(nine.UsageError, match="prior has 3 rows, and 2"):
        nine.explain("mix:lin,log", [1, 1], w, prior=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"shape \(2, 2\), and one context"):
        nine.explain("log", np.ones((2, 2)), w)


def test_figures(tmp_path):
    figure = nine.plot("rbf", "log:p=2", low=0, high=4)
    assert figure._repr_svg_().startswith("<svg") and "log:p=2" in figure.svg
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text() == figure.svg
    assert nine.plot().svg != figure.svg
    assert "</svg>" in nine.plot("cos:0.3", "arc:0.5").svg
    with pytest.raises(nine.UsageError, match="mixture"):
        nine.plot("mix:lin,log")
    names = [name for name, _ in nine.experiments()]
    assert "bottleneck" in names
    shown = nine.experiment("bottleneck")
    assert shown.svg.startswith("<svg") and len(str(shown)) > 100
    with pytest.raises(nine.UsageError, match="bottleneck"):
        nine.experiment("bottle")


@needs_programs
def test_the_programs_show_the_same(tmp_path):
    page, figure = tmp_path / "page.html", tmp_path / "figure.svg"
    run("kernel_inspect", "--explain", "rbf", "--page", page)
    assert page.read_text() == nine.explain("rbf").html
    assert run("kernel_inspect", "--explain", "mix:lin,log") == nine.explain("mix:lin,log").text
    run("kernel_inspect", "--plot", figure, "--kernels", "rbf,log", "--to", 4)
    assert figure.read_text() == nine.plot("rbf", "log", high=4).svg


@needs_programs
def test_runs(tmp_path):
    pytest.importorskip("pandas")
    programs.language_model(), programs.translation_model()
    frame = nine.runs(programs.directory())
    assert {"lm-1-lin", "mt-1"} <= set(frame.index)
    row = frame.loc["lm-1-lin"]
    assert (row["state"], row["step"], row["hidden"], row["head"]) == ("done", 60, 16, "lin")
    assert frame.loc["mt-1"]["step"] == 80
    losses = nine.log(programs.language_model(), "train")
    lines = (programs.directory() / "lm-1-lin/log.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    nll = [e["nll"] for e in events if e["event"] == "train"]
    assert list(losses["nll"]) == nll and losses.index.name == "step"
    assert nine.log(programs.language_model(), "test").empty
    with pytest.raises(FileNotFoundError, match="has no runs"):
        nine.runs(tmp_path)
    with pytest.raises(FileNotFoundError, match="is no run"):
        nine.log(tmp_path)


def test_logs_that_are_not_whole(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "config.json").write_text("{}")
    log = tmp_path / "log.jsonl"
    log.write_text('{"event":"train","step":1,"nll":"NaN"}\n{"event":"train","st')
    assert np.isnan(nine.log(tmp_path, "train")["nll"][1])
    log.write_text('{"event":"train","step":1}\nnothing\n')
    with pytest.raises(ValueError, match="line 2: no event of a log"):
        nine.log(tmp_path, "train")


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=re.escape("pip install pandas")):
        nine.runs(".")
