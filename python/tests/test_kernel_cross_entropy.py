"""nine.torch.kernel_cross_entropy: values beside plain PyTorch, gradients beside differences."""

import copy
import importlib.util
import math
import os
import pathlib
import random
import threading
import time

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn import functional as F

import nine
from nine.torch import KernelSoftmax, kernel_cross_entropy

FORMULA = "expr:{s*tanh(z/s)}:s=learn:2"
MARGINS = ["cos:0.35", "arc:0.5", "lsm:3"]
HEADS = [*nine.kernels(), *nine.presets(), FORMULA, "mix:lin,2*wav:a=learn:2"]


def problem(head="lin", rows=5, words=7, width=6, dtype=torch.float64, untied=False, bias=True):
    """Arguments of kernel_cross_entropy, and the tensors among them that have a gradient."""
    spec = nine.Head(head, "", untied)
    k = spec.size

    def random(*shape):
        return (0.5 * torch.randn(shape, dtype=torch.float64)).to(dtype).requires_grad_()

    tensors = {
        "h": random(rows, width),
        "weight": random(k, words, width) if untied else random(words, width),
    }
    if bias:
        tensors["bias"] = random(words)
    if spec.mixture:
        tensors["prior"] = random(k, width)
    if spec.contexts:
        tensors["context"] = random(k, width, width)
    if spec.numbers:
        values = [value for _, value in spec.numbers]
        tensors["numbers"] = torch.tensor(values, dtype=dtype).requires_grad_()
    target = torch.randint(words, (rows,))
    return tensors, target


def loss_of(tensors, target, **settings):
    h, weight, *_ = tensors.values()
    others = {name: t for name, t in tensors.items() if name not in ("h", "weight")}
    return kernel_cross_entropy(h, weight, target, **others, **settings)


def check_gradients(tensors, target, **settings):
    names = list(tensors)
    upstream = 0.3 + torch.rand(target.shape, dtype=torch.float64)

    def loss(*values):
        out = loss_of(dict(zip(names, values)), target, **settings)
        return out * (upstream if out.dim() else upstream[0])

    assert torch.autograd.gradcheck(loss, tuple(tensors.values()), eps=1e-6, atol=1e-6)


def gradients_of(tensors, loss):
    return dict(zip(tensors, torch.autograd.grad(loss, list(tensors.values()))))


def same_bits(a, b):
    return a.dtype == b.dtype and torch.equal(a, b)


# --- gradients


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("head", HEADS)
def test_gradients_of_every_head(head, reduction):
    tensors, target = problem(head, rows=4)
    target[1] = -100
    check_gradients(tensors, target, head=head, reduction=reduction)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("margin", MARGINS)
def test_gradients_of_margins(margin, reduction):
    tensors, target = problem("mix:2*lin")
    check_gradients(tensors, target, head="mix:2*lin", margin=margin, reduction=reduction)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("head", ["lin", "rbf", "mix:2*lin,log"])
def test_gradients_of_options(head, reduction):
    tensors, target = problem(head)
    target[2] = 3
    check_gradients(
        tensors,
        target,
        head=head,
        reduction=reduction,
        ignore_index=3,
        label_smoothing=0.1,
        z_loss=0.05,
        token_weight=torch.tensor([0.5, 2.0, 1.0, 0.0, 3.0]),
    )


@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_random_problems(seed):
    draw = random.Random(seed)
    torch.manual_seed(seed)
    rows, words, width = draw.randint(1, 6), draw.randint(1, 9), draw.choice([3, 6])
    margin = draw.choice([None, None, *MARGINS])
    head = draw.choice(["lin", "mix:2*lin"] if margin else HEADS)
    mixture = nine.Head(head).mixture
    tensors, target = problem(
        head, rows, words, width, untied=mixture and draw.random() < 0.5, bias=draw.random() < 0.7
    )
    settings = {"label_smoothing": 0.2} if draw.random() < 0.3 and words > 1 else {}
    if margin:
        settings["margin"] = margin
    elif draw.random() < 0.3:
        settings["z_loss"] = 0.1
    reduction = draw.choice(["mean", "sum", "none"])
    check_gradients(tensors, target, head=head, reduction=reduction, **settings)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 9), (33, 70, 4), (70, 5, 3)])
def test_gradients_of_shapes(shape):
    rows, words, width = shape
    tensors, target = problem("mix:lin,rbf", rows, words, width, untied=True)
    loss = loss_of(tensors, target, head="mix:lin,rbf", reduction="none")
    upstream = torch.rand_like(loss)
    gradients = gradients_of(tensors, (upstream * loss).sum())
    # A direction at a time, because there are many elements.
    for name, t in tensors.items():
        way = torch.randn_like(t)
        with torch.no_grad():
            moved = [
                (
                    loss_of(
                        {**tensors, name: t + e * way}, target, head="mix:lin,rbf", reduction="none"
                    )
                    * upstream
                ).sum()
                for e in (1e-5, -1e-5)
            ]
        difference = (moved[0] - moved[1]) / 2e-5
        assert math.isclose(float((gradients[name] * way).sum()), float(difference), rel_tol=1e-5)


def test_a_gradient_is_computed_only_where_it_is_wanted():
    tensors, target = problem("mix:lin,rbf")
    all_gradients = gradients_of(tensors, loss_of(tensors, target, head="mix:lin,rbf"))
    for name, t in tensors.items():
        others = {n: u.detach() for n, u in tensors.items()} | {name: t}
        loss = loss_of(others, target, head="mix:lin,rbf")
        assert same_bits(torch.autograd.grad(loss, t)[0], all_gradients[name])
    with torch.no_grad():
        assert not loss_of(tensors, target, head="mix:lin,rbf").requires_grad


def test_a_second_backward_and_a_scaled_loss():
    tensors, target = problem()
    loss = loss_of(tensors, target)
    first = torch.autograd.grad(loss, tensors["weight"], retain_graph=True)[0]
    again = torch.autograd.grad(loss, tensors["weight"], retain_graph=True)[0]
    scaled = torch.autograd.grad(loss, tensors["weight"], -2 * torch.ones_like(loss), True)[0]
    assert same_bits(first, again)
    assert same_bits(scaled, -2 * first)
    weight = tensors["weight"]
    for _ in range(3):  # the saved gradients are not what they are added to
        loss.backward(retain_graph=True)
    torch.testing.assert_close(weight.grad, 3 * first)


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_derivatives_that_there_are_not_are_errors(reduction):
    tensors, target = problem()
    loss = loss_of(tensors, target, reduction=reduction).square().sum()
    (gradient,) = torch.autograd.grad(loss, tensors["h"], create_graph=True)
    assert same_bits(gradient, torch.autograd.grad(loss, tensors["h"], retain_graph=True)[0])
    with pytest.raises(RuntimeError, match="nine has no second derivatives"):
        (loss + gradient.square().sum()).backward()

    def of_h(h):
        return loss_of({**tensors, "h": h}, target, reduction=reduction).sum()

    h = tensors["h"].detach()
    with pytest.raises(RuntimeError, match="nine has no second derivatives"):
        torch.autograd.functional.hessian(of_h, h)
    with pytest.raises(RuntimeError, match="nine has no second derivatives"):
        torch.autograd.functional.jvp(of_h, h, torch.ones_like(h))
    with pytest.raises(RuntimeError, match="h has a tangent, and nine has no derivatives in"):
        torch.func.jvp(of_h, (h,), (torch.ones_like(h),))


# --- values


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_lin_is_cross_entropy(dtype, reduction):
    tensors, target = problem("lin", rows=40, words=130, width=16, dtype=dtype)
    target[::5] = 9
    settings = {"ignore_index": 9, "label_smoothing": 0.1, "reduction": reduction}
    loss = loss_of(tensors, target, **settings)
    doubles = {name: t.detach().double().requires_grad_() for name, t in tensors.items()}
    logits = doubles["h"] @ doubles["weight"].T + doubles["bias"]
    expected = F.cross_entropy(logits, target, **settings)
    limit = 1e-12 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(loss.double(), expected, rtol=limit, atol=limit)
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    if dtype in (torch.bfloat16, torch.float16):
        limit = 1e-2
    gradients = gradients_of(tensors, loss.sum() * 3)
    for name, expected_gradient in gradients_of(doubles, expected.sum() * 3).items():
        assert gradients[name].dtype == dtype
        torch.testing.assert_close(
            gradients[name].double(), expected_gradient, rtol=limit, atol=limit
        )


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_scaled_gradients_of_float16_are_not_lost(reduction):
    # As a GradScaler scales them. Before scaling most of them are below float16's smallest number.
    torch.manual_seed(1)
    h = (torch.randn(64, 16) * 0.1).half().requires_grad_()
    weight = (torch.randn(50, 16) * 1e-4).half().requires_grad_()
    target = torch.randint(50, (64,))
    loss = kernel_cross_entropy(h, weight, target, reduction=reduction)
    (loss.mean() * 65536).backward()
    exact_h = h.detach().double().requires_grad_()
    F.cross_entropy(exact_h @ weight.detach().double().T, target).backward()
    assert exact_h.grad.abs().median() < 2**-18
    torch.testing.assert_close(h.grad.double() / 65536, exact_h.grad, rtol=2e-3, atol=1e-9)


def test_a_mixture_and_lse_are_the_formula():
    head = "mix:3*lin"
    tensors, target = problem(head)
    loss, lse = loss_of(tensors, target, head=head, reduction="none", return_lse=True)
    h, weight = tensors["h"], tensors["weight"]
    log_prior = F.log_softmax(h @ tensors["prior"].T, -1)
    contexts = torch.tanh(torch.einsum("kij,nj->nki", tensors["context"], h))
    scores = contexts @ weight.T + tensors["bias"]
    torch.testing.assert_close(lse, torch.logsumexp(scores, -1).detach())
    log_p = torch.logsumexp(log_prior[:, :, None] + F.log_softmax(scores, -1), 1)
    expected = F.nll_loss(log_p, target, reduction="none")
    torch.testing.assert_close(loss, expected)
    gradients = gradients_of(tensors, loss.square().sum())
    torch.testing.assert_close(gradients, gradients_of(tensors, expected.square().sum()))


def test_z_loss_and_token_weight_are_the_formula():
    tensors, target = problem()
    weight = torch.tensor([0.5, 2.0, 1.0, 0.0, 3.0])
    plain, lse = loss_of(tensors, target, reduction="none", return_lse=True)
    assert lse.shape == target.shape and not lse.requires_grad
    z = loss_of(tensors, target, reduction="none", z_loss=0.1)
    torch.testing.assert_close(z, plain + 0.1 * lse.square())
    weighted = loss_of(tensors, target, reduction="none", token_weight=weight)
    torch.testing.assert_close(weighted, plain * weight)
    mean = loss_of(tensors, target, token_weight=weight)
    torch.testing.assert_close(mean, (plain * weight).sum() / weight.sum())


def test_rows_may_have_several_dimensions():
    tensors, target = problem(rows=6)
    flat = loss_of(tensors, target, reduction="none")
    tensors["h"] = tensors["h"].detach().reshape(2, 3, -1).requires_grad_()
    loss, lse = loss_of(tensors, target.reshape(2, 3), reduction="none", return_lse=True)
    assert loss.shape == lse.shape == (2, 3)
    assert same_bits(loss.reshape(-1), flat)
    loss.sum().backward()
    assert tensors["h"].grad.shape == tensors["h"].shape


@pytest.mark.parametrize("name", ["h", "weight", "context", "bias", "token_weight"])
def test_odd_strides_give_the_same_bits(name):
    head = "mix:2*lin"
    tensors, target = problem(head, rows=8)
    weight = torch.rand(8)
    expected = loss_of(tensors, target, head=head, token_weight=weight)
    expected_gradients = gradients_of(tensors, expected)
    if name == "token_weight":
        wide = torch.stack([weight, -weight], 1)
        loss = loss_of(tensors, target, head=head, token_weight=wide[:, 0])
        assert same_bits(loss, expected)
        return
    for odd in (
        lambda t: t.detach().clone().transpose(0, -1).contiguous().transpose(0, -1),
        lambda t: torch.cat([t.detach(), t.detach()], -1)[..., : t.shape[-1]],
        lambda t: t.detach().repeat_interleave(2, -1)[..., ::2],
    ):
        other = {**tensors, name: odd(tensors[name]).requires_grad_()}
        loss = loss_of(other, target, head=head, token_weight=weight)
        assert same_bits(loss, expected)
        for n, gradient in gradients_of(other, loss).items():
            assert same_bits(gradient, expected_gradients[n])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("head", ["lin", "rbf", "mix:2*lin,log"])
def test_the_bits_depend_neither_on_threads_nor_on_other_rows(head, dtype):
    tensors, target = problem(head, rows=300, words=1500, width=24, dtype=dtype)
    before = nine.threads()
    results = []
    try:
        for count in (1, 2, 3):
            nine.set_threads(count)
            loss = loss_of(tensors, target, head=head)
            results.append([loss.detach(), *gradients_of(tensors, loss).values()])
    finally:
        nine.set_threads(before)
    for other in results[1:]:
        assert all(same_bits(a, b) for a, b in zip(results[0], other))
    rows = loss_of(tensors, target, head=head, reduction="none")
    for r in (0, 31, 32, 250, 299):
        alone = {**tensors, "h": tensors["h"][r : r + 1]}
        assert same_bits(loss_of(alone, target[r : r + 1], head=head, reduction="none")[0], rows[r])


def peak_of(pass_) -> float:
    """The MiB that a pass needs at most, with its results."""
    spec = importlib.util.spec_from_file_location(
        "head", pathlib.Path(__file__).parents[1] / "bench/head.py"
    )
    head = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(head)
    pass_()
    try:
        head.reset_peak()
    except OSError as error:
        pytest.skip(f"the kernel keeps no peak of this process: {error}")
    before = head.memory_mib("VmRSS")
    kept = pass_()
    peak = head.memory_mib("VmHWM") - before
    del kept
    return peak


@pytest.mark.parametrize("head", ["lin", "mix:2*lin"])
def test_the_least_memory(head):
    words, width, rows = 40_000, 64, 100
    tensors, target = problem(head, rows, words, width, torch.float32)
    before = nine.threads()
    results, peaks = {}, {}

    def run(memory):
        loss = loss_of(tensors, target, head=head, memory=memory)
        return [loss.detach(), *gradients_of(tensors, loss).values()]

    try:
        for memory, count in (("blocks", 1), ("least", 1), ("least", 2), ("least", 3)):
            nine.set_threads(count)
            results[memory, count] = run(memory)
            peaks[memory, count] = peak_of(lambda: run(memory))
    finally:
        nine.set_threads(before)
    usual, least = results["blocks", 1], results["least", 1]
    for count in (2, 3):
        assert all(same_bits(a, b) for a, b in zip(least, results["least", count]))
    for a, b in zip(usual, least):
        assert (a - b).norm() <= 1e-5 * a.norm()
    gradients = sum(g.numel() * 4 for g in usual[1:]) / 2**20
    products = words * rows * 4 / 2**20
    assert peaks["least", 1] < gradients + 3
    assert peaks["blocks", 1] > gradients + products


# --- errors


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"target": torch.tensor([1, 2, 3, 4, 7])}, IndexError, "target 7 of row 4 .* the 7 words"),
        ({"target": torch.tensor([1, -1, 3, 4, 5])}, IndexError, "target -1 of row 1"),
        ({"target": torch.tensor([1, 2**40, 3, 4, 5])}, IndexError, "target 1099511627776"),
        ({"target": torch.ones(5)}, TypeError, "target is torch.float32"),
        ({"target": torch.ones(4, dtype=torch.int64)}, ValueError, r"\(4,\), and \(5,\) was"),
        ({"target": torch.full((5,), -100)}, ValueError, "there is no mean: all 5 targets"),
        ({"h": torch.zeros(5, 3).double()}, ValueError, "the last sizes differ"),
        ({"h": torch.zeros(0, 6).double(), "target": torch.zeros(0).long()}, ValueError, "no rows"),
        ({"h": torch.zeros(5, 6)}, TypeError, "weight is torch.float64 and h is torch.float32"),
        ({"h": torch.zeros(5, 6).long()}, TypeError, "h is torch.int64"),
        ({"h": torch.zeros(5, 6, device="meta").double()}, ValueError, "h is on meta"),
        ({"weight": torch.zeros(6).double()}, ValueError, r"weight has the shape \(6,\)"),
        ({"weight": torch.zeros(0, 6).double(), "bias": None}, ValueError, r"the shape \(0, 6\)"),
        ({"bias": torch.zeros(6).double()}, ValueError, r"bias has the shape \(6\), and \(7\)"),
        ({"bias": torch.zeros(7, 1).double()}, ValueError, r"bias has the shape \(7, 1\)"),
        ({"weight": torch.zeros(3, 7, 6).double()}, ValueError, r"\(3, 7, 6\).*\(1, words, 6\)"),
        ({"h": [[1.0]]}, TypeError, "h is list"),
        ({"target": [1, 2, 3, 4, 5]}, TypeError, "target is list"),
        ({"z_loss": -0.1}, nine.Error, "z-loss must be"),
        ({"z_loss": math.nan}, nine.Error, "z-loss must be"),
        ({"prior": torch.zeros(2, 6).double()}, ValueError, "lin is no mixture"),
        ({"head": "mix:2*lin"}, nine.Error, r"needs prior.weight of shape \(2, 6\)"),
        ({"head": "lim"}, nine.UsageError, "lin"),
        ({"head": "lim"}, ValueError, "lin"),
        ({"head": "mog:components=4"}, nine.Error, "6"),
        ({"margin": "arc"}, nine.UsageError, "arc"),
        ({"margin": "arc:0.5", "head": "rbf"}, nine.Error, "inner products"),
        ({"label_smoothing": 1.5}, nine.Error, "must be in"),
        ({"reduction": "max"}, ValueError, "'max'"),
        ({"memory": "tiles"}, ValueError, "memory is 'tiles'"),
        ({"token_weight": torch.ones(4)}, ValueError, "token_weight has the shape"),
        ({"token_weight": torch.ones(5, requires_grad=True)}, ValueError, "no gradient"),
        ({"numbers": torch.ones(2).double()}, ValueError, r"numbers has the shape \(2\)"),
    ],
)
def test_wrong_arguments_are_exceptions(change, error, message):
    tensors, target = problem()
    arguments = {**tensors, "target": target, **change}
    with pytest.raises(error, match=message):
        kernel_cross_entropy(**arguments)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"prior": torch.zeros(3, 6).double()}, r"prior has the shape \(3, 6\), and \(2, 6\)"),
        ({"context": torch.zeros(2, 6).double()}, r"context has .*\(2, 6, 6\) or \(12, 6\)"),
        ({"weight": torch.zeros(3, 7, 6).double()}, r"\(3, 7, 6\).*\(2, words, 6\)"),
    ],
)
def test_wrong_shapes_of_a_mixture_are_exceptions(change, message):
    tensors, target = problem("mix:2*lin")
    with pytest.raises(ValueError, match=message):
        loss_of({**tensors, **change}, target, head="mix:2*lin")


def test_a_batch_without_targets_has_the_sum_0():
    tensors, _ = problem()
    loss = loss_of(tensors, torch.full((5,), -100), reduction="sum")
    assert loss.item() == 0
    assert all(float(g.abs().max()) == 0 for g in gradients_of(tensors, loss).values())


# --- what else runs in the process


def large():
    tensors, target = problem(rows=2000, words=20000, width=256, dtype=torch.float32, bias=False)
    return lambda: loss_of(tensors, target, reduction="sum")


def test_other_threads_run_meanwhile():
    compute, counted, stop = large(), [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    compute()
    during = counted[0] - before
    stop.set()
    thread.join()
    assert during > 20


def test_an_interrupt_is_answered():
    compute = large()
    began = time.monotonic()
    compute()
    whole = time.monotonic() - began
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), 2))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            compute()
    assert time.monotonic() - began < 0.6 * whole + 0.3
    compute()  # and the next call works


def test_several_threads_compute_at_once():
    tensors, target = problem("mix:2*lin", rows=100, words=500)
    expected = loss_of(tensors, target, head="mix:2*lin").detach()
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.append(loss_of(tensors, target, head="mix:2*lin").detach())
        )
        for _ in range(6)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 6 and all(same_bits(r, expected) for r in results)


class Losses(torch.utils.data.Dataset):
    """Each item is a loss that the worker computes."""

    def __init__(self):
        self.tensors, self.target = problem("mix:2*lin", rows=200, words=900)

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return loss_of(self.tensors, self.target, head="mix:2*lin").detach()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_worker_computes():
    data = Losses()
    nine.set_threads(2)
    expected = data[0]  # the parent has started threads
    loader = torch.utils.data.DataLoader(
        data, num_workers=2, multiprocessing_context="fork", timeout=60, batch_size=None
    )
    assert all(same_bits(loss, expected) for loss in loader)


# --- torch.library


def test_the_op_keeps_the_rules_of_torch_library():
    tensors, target = problem("mix:2*lin", rows=3)
    values = [tensors.get(n) for n in ("h", "weight", "bias", "prior", "context", "numbers")]
    for reduction in ("mean", "none"):
        torch.library.opcheck(
            torch.ops.nine.kernel_softmax.default,
            (
                *values[:2],
                target,
                *values[2:],
                None,
                "mix:2*lin",
                reduction,
                -100,
                0.1,
                "none",
                0.1,
                "blocks",
                0b11111,
            ),
        )


@pytest.mark.parametrize(
    "reduction, backend", [("mean", "aot_eager"), ("none", "aot_eager"), ("mean", "inductor")]
)
def test_compile_takes_it_whole(reduction, backend):
    tensors, target = problem("mix:2*lin")

    def loss(h, weight):
        values = {**tensors, "h": torch.relu(h), "weight": weight}
        return 2 * loss_of(values, target, head="mix:2*lin", reduction=reduction).sum()

    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    for f in (loss, compiled):
        h, weight = (tensors[n].detach().clone().requires_grad_() for n in ("h", "weight"))
        value = f(h, weight)
        value.backward()
        if f is loss:
            expected = value.detach(), h.grad, weight.grad
    torch.testing.assert_close((value.detach(), h.grad, weight.grad), expected)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_fake_tensors_have_the_shapes_and_types_of_results(reduction):
    tensors, target = problem("mix:2*lin", dtype=torch.float32)
    settings = {"head": "mix:2*lin", "reduction": reduction, "return_lse": True}
    expected = loss_of(tensors, target, **settings)
    with FakeTensorMode() as mode:
        fakes = {name: mode.from_tensor(t) for name, t in tensors.items()}
        results = loss_of(fakes, mode.from_tensor(target), **settings)
        gradients = torch.autograd.grad(results[0].sum(), list(fakes.values()))
    for fake, real in zip([*results, *gradients], [*expected, *tensors.values()]):
        assert isinstance(fake, FakeTensor)
        assert (fake.shape, fake.dtype) == (real.shape, real.dtype)


def test_tensors_are_read_in_place():
    wide = torch.zeros(6, 9)
    for t in (wide, wide[:, :7], wide[2:4], wide.detach(), torch.zeros(2, 3, 4)):
        assert nine.torch._array(t).data_ptr() == t.data_ptr()
    assert nine.torch._array(wide.t()).is_contiguous()


# --- data parallel


def in_process(rank, folder):
    """One of two processes: a step of DistributedDataParallel on its half of the rows."""
    torch.manual_seed(7)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
    )
    layer = KernelSoftmax(6, 9, "mix:2*lin,rbf")
    h, y = torch.randn(8, 6), torch.randint(9, (8,))
    alone = copy.deepcopy(layer)
    alone(h, y).backward()
    half = slice(4 * rank, 4 * rank + 4)
    parallel = torch.nn.parallel.DistributedDataParallel(layer)
    parallel(h[half], y[half]).backward()
    for ours, theirs in zip(layer.parameters(), alone.parameters()):
        torch.testing.assert_close(ours.grad, theirs.grad)
    torch.distributed.destroy_process_group()


def test_data_parallel(tmp_path):
    torch.multiprocessing.spawn(in_process, (str(tmp_path),), nprocs=2)
    layer = KernelSoftmax(6, 9)
    h, y = torch.randn(8, 6), torch.randint(9, (8,))
    assert same_bits(torch.nn.DataParallel(layer)(h, y), layer(h, y))
