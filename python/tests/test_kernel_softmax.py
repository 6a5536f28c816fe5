"""nine.torch.KernelSoftmax: its weights, its loss in training, and the probabilities of words."""

import copy
import gc
import math

import pytest
import torch
from torch.nn import functional as F

import nine
from nine.torch import KernelSoftmax

HEADS = ["lin", "rbf", "mix:2*lin,log", "hpb:ball=tanh", "expr:{s*tanh(z/s)}:s=learn:30", "mos"]


@pytest.mark.parametrize("head", HEADS)
def test_probabilities_and_loss_agree(head):
    layer = KernelSoftmax(8, 50, head, dtype=torch.float64)
    h, y = torch.randn(3, 4, 8).double(), torch.randint(50, (3, 4))
    log_p = layer.log_prob(h)
    assert log_p.shape == (3, 4, 50)
    torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(3, 4).double())
    torch.testing.assert_close(layer.loss(h, y), F.nll_loss(log_p.reshape(-1, 50), y.reshape(-1)))
    values, words = layer.topk(h, 5)
    torch.testing.assert_close((values, words), tuple(torch.topk(log_p, 5)))


def test_samples_follow_the_probabilities():
    layer = KernelSoftmax(4, 3, "lin")
    h = torch.randn(4)
    generator = torch.Generator().manual_seed(3)
    drawn = layer.sample(h.expand(20000, 4), generator=generator)
    assert drawn.shape == (20000,)
    p = layer.log_prob(h).exp()
    for word in range(3):
        share, sigma = float((drawn == word).float().mean()), math.sqrt(0.25 / 20000)
        assert abs(share - float(p[word])) < 5 * sigma


def test_names_of_tensors_are_those_of_models():
    layer = KernelSoftmax(6, 9, "mix:lin,2*log:p=learn:2", untied=True)
    shapes = {name: tuple(t.shape) for name, t in layer.state_dict().items()}
    assert shapes == {
        "weight": (3, 9, 6),
        "bias": (9,),
        "prior.weight": (3, 6),
        "latent.weight": (18, 6),
        "scores.1.p": (1,),
        "scores.2.p": (1,),
    }
    assert layer.scores["1"]["p"].item() == pytest.approx(math.log(2))
    assert set(KernelSoftmax(6, 9, "lin", bias=False).state_dict()) == {"weight"}


def test_training_lowers_the_loss_and_moves_every_tensor():
    layer = KernelSoftmax(8, 20, "mix:lin,rbf,wav:a=learn:2", margin="none", label_smoothing=0.1)
    table = torch.nn.Embedding(20, 8)
    before = copy.deepcopy(layer.state_dict())
    optimizer = torch.optim.Adam([*layer.parameters(), *table.parameters()], lr=0.05)
    ids = torch.arange(20)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = layer(table(ids), (ids + 1) % 20)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]
    assert all(not torch.equal(before[name], t) for name, t in layer.state_dict().items())
    restored = KernelSoftmax(8, 20, "mix:lin,rbf,wav:a=learn:2", label_smoothing=0.1)
    restored.load_state_dict(layer.state_dict())
    assert torch.equal(restored(table(ids), ids), layer(table(ids), ids))


def test_options_of_training_do_not_count_in_evaluation():
    layer = KernelSoftmax(8, 20, "lin", margin="cos:0.3", label_smoothing=0.1, z_loss=0.01)
    plain = KernelSoftmax(8, 20, "lin")
    plain.load_state_dict(layer.state_dict())
    h, y = torch.randn(5, 8), torch.randint(20, (5,))
    assert not torch.equal(layer.loss(h, y), plain.loss(h, y))
    assert torch.equal(layer.eval().loss(h, y), plain.loss(h, y))


def test_results_outlive_what_they_came_from():
    layer = KernelSoftmax(8, 20000, "lin")
    log_p = layer.log_prob(torch.randn(40, 8))
    values, words = layer.topk(torch.randn(40, 8), 3)
    expected = log_p.clone(), values.clone(), words.clone()
    del layer
    gc.collect()
    rubbish = [torch.full((40, 20000), math.nan) for _ in range(3)]
    del rubbish
    assert torch.equal(log_p, expected[0])
    assert torch.equal(values, expected[1]) and torch.equal(words, expected[2])


def test_wrong_arguments_are_exceptions():
    with pytest.raises(nine.UsageError, match="mog"):
        KernelSoftmax(6, 9, "mog:components=4")
    layer = KernelSoftmax(6, 9)
    with pytest.raises(ValueError, match=r"h has the shape \(2, 5\)"):
        layer.log_prob(torch.zeros(2, 5))
    with pytest.raises(nine.Error, match="cannot return the best 10 of 9 words"):
        layer.topk(torch.zeros(2, 6), 10)
    with pytest.raises(nine.Error, match="no contexts"):
        layer.log_prob(torch.zeros(0, 6))


def test_bfloat16_weights():
    layer = KernelSoftmax(8, 20, "mix:2*lin,log", dtype=torch.bfloat16)
    h = torch.randn(5, 8, dtype=torch.bfloat16)
    layer(h, torch.arange(5)).backward()
    assert all(p.grad.dtype == torch.bfloat16 for p in layer.parameters())
    assert layer.log_prob(h).dtype == torch.float32
