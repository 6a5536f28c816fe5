"""The package itself: names, heads, arrays of NumPy."""

import re

import numpy as np
import pytest

import nine
from nine import _nine


def test_version_and_names():
    assert re.fullmatch(r"\d+\.\d+\.\d+", nine.__version__)
    assert len(nine.kernels()) == 10 and "hpb" in nine.kernels()
    assert len(nine.presets()) == 7 and nine.presets()["mos"] == "mix:9*lin"


def test_head():
    head = nine.Head("mix:3*lin,log:p=learn:1")
    assert (head.size, head.mixture, head.contexts, head.untied) == (4, True, True, False)
    assert head.numbers == [("scores.3.p", 0.0)]
    assert nine.Head(head.text).text == head.text
    assert repr(nine.Head("lin")) == "Head('lin')"
    with pytest.raises(nine.UsageError, match="lim"):
        nine.Head("lim")


def test_threads():
    before = nine.threads()
    nine.set_threads(3)
    assert nine.threads() == 3
    with pytest.raises(nine.Error, match="from 1 to 4096, not 0"):
        nine.set_threads(0)
    nine.set_threads(before)


def test_arrays_of_numpy():
    rng = np.random.default_rng(1)
    h, w = rng.normal(size=(4, 3)), rng.normal(size=(9, 3))
    target = np.array([0, 8, 3, -100])
    dh, losses = np.full_like(h, np.nan), np.empty(4)
    loss = _nine.kernel_softmax(
        "lin", h, target, _nine.Weights(w), _nine.Gradients(h=dh), row_loss=losses
    )
    scores = h @ w.T
    log_p = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    expected = [-log_p[r, y] if y >= 0 else 0 for r, y in enumerate(target)]
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    np.testing.assert_allclose(loss, sum(expected), rtol=1e-12)
    np.testing.assert_allclose(_nine.log_probabilities("lin", h, _nine.Weights(w)), log_p)
    p = np.exp(log_p)
    p[np.arange(3), target[:3]] -= 1
    p[3] = 0
    np.testing.assert_allclose(dh, p @ w, rtol=1e-10)
    with pytest.raises(ValueError, match="weight: .*make a contiguous copy"):
        _nine.log_probabilities("lin", h, _nine.Weights(np.asfortranarray(w)))
    with pytest.raises(TypeError, match="h is float16"):
        _nine.log_probabilities("lin", h.astype(np.float16), _nine.Weights(w))
    h.setflags(write=False)
    _nine.log_probabilities("lin", h, _nine.Weights(w))  # inputs may be read-only
