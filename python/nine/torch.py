"""The kernel softmax for PyTorch: the function kernel_cross_entropy, the module KernelSoftmax, and
patch, which puts this module into a model of transformers.

The loss never stores a matrix of contexts times words, and computes its gradients in the forward
pass. Tensors are on the CPU, or on a GPU if the package was built with CUDA; they are read and
written in place.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from . import Head, _nine, _threads
from ._patch import patch

__all__ = ["KernelSoftmax", "kernel_cross_entropy", "patch"]

_REDUCTIONS = ("mean", "sum", "none")
_MEMORY = ("blocks", "least")


# --- the op


def _array(tensor: Optional[Tensor]) -> Any:
    """The tensor without its graph, which DLPack does not take; copied if the library cannot read
    its strides: it wants rows whose elements lie side by side."""
    if tensor is None:
        return None
    tensor = tensor.detach()
    rows_apart = tensor.dim() == 2 and tensor.stride(1) == 1 and tensor.stride(0) >= tensor.shape[1]
    return tensor if rows_apart else tensor.contiguous()


def _weights(*weights: Optional[Tensor]) -> _nine.Weights:
    return _nine.Weights(*(_array(t) for t in weights))


def _row_weights(
    target: Tensor, token_weight: Optional[Tensor], reduction: str, ignore_index: int
) -> Tensor:
    """What multiplies each row's loss, float64."""
    if token_weight is None:
        weights = torch.ones(target.shape, dtype=torch.float64, device=target.device)
    else:
        weights = token_weight.to(torch.float64)
    if reduction != "mean":
        return weights
    counted = weights[target != ignore_index]
    # On the CPU by NumPy: the bits of PyTorch's sum depend on the number of threads.
    total = float(counted.numpy().sum() if counted.device.type == "cpu" else counted.sum())
    if total == 0:
        raise ValueError(
            f"there is no mean: all {target.numel()} targets are ignore_index ({ignore_index}), or "
            "the weights of the others add up to 0; reduction='sum' takes such a batch"
        )
    return weights / total


def _targets(target: Tensor, words: int, ignore_index: int) -> Tensor:
    """The targets as the library reads them; it checks those on the CPU itself."""
    if target.device.type == "cpu":
        return target
    counted = target != ignore_index
    wrong = (counted & ((target < 0) | (target >= words))).nonzero()
    if len(wrong) > 0:
        row = int(wrong[0])
        raise IndexError(
            f"target {int(target[row])} of row {row} is outside of the {words} words; rows with "
            f"ignore_index ({ignore_index}) do not count"
        )
    return torch.where(counted, target, -1).to(torch.int32)


def _stream(device: torch.device) -> int:
    """The address of the stream to which PyTorch submits work for this device; 0 for the CPU."""
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0


@torch.library.custom_op("nine::kernel_softmax", mutates_args=())
def _kernel_softmax(
    h: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Optional[Tensor],
    prior: Optional[Tensor],
    context: Optional[Tensor],
    numbers: Optional[Tensor],
    token_weight: Optional[Tensor],
    head: str,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    margin: str,
    z_loss: float,
    memory: str,
    wanted: int,
) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Returns the loss, lse (components, rows) and the gradients of the reduced loss. Bit i of
    `wanted` asks for the i-th gradient, of h, weight, bias, prior, context, numbers; others are
    empty, as are all with reduction 'none'. Each gradient has the type that _kept_dtype() says."""
    size = 1 if prior is None else prior.shape[0]
    row_loss = h.new_empty(h.shape[0], dtype=torch.float64)
    lse = h.new_empty((size, h.shape[0]), dtype=torch.float64)
    inputs = (h, weight, bias, prior, context, numbers)
    dtype = _computed_dtype(h)
    wide = [_in_dtype(t, dtype) for t in inputs]
    gradients = _empty_gradients(inputs, reduction, wanted, dtype)
    row_weights = _row_weights(target, token_weight, reduction, ignore_index)
    _threads.follow(torch.get_num_threads())
    total = _nine.kernel_softmax(
        head,
        _array(wide[0]),
        _array(_targets(target, weight.shape[-2], ignore_index)),
        _weights(*wide[1:]),
        _nine.Gradients(*(_array(g) if g.numel() > 0 else None for g in gradients)),
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        margin=margin,
        z_loss=z_loss,
        row_weight=_array(row_weights),
        row_loss=_array(row_loss),
        lse=_array(lse),
        least_memory=memory == "least",
        stream=_stream(h.device),
    )
    if reduction == "none":
        loss = (row_loss * row_weights).to(dtype)
    else:
        loss = torch.tensor(total, dtype=dtype, device=h.device)
    del wide  # before the gradients take memory in their own types
    for i, t in enumerate(inputs):
        if t is not None and gradients[i].numel() > 0:
            gradients[i] = _in_dtype(gradients[i], _kept_dtype(t.dtype))
    return (loss, lse, *gradients)  # type: ignore[return-value]


def _computed_dtype(h: Tensor) -> torch.dtype:
    """The type in which a loss is computed; the other tensors fit h, see _common_dtype."""
    return torch.float64 if h.dtype == torch.float64 else torch.float32


def _kept_dtype(dtype: torch.dtype) -> torch.dtype:
    """The type of a gradient until backward multiplies it by the upstream gradient. float16 would
    lose what a GradScaler is about to scale: its smallest number is 6e-8."""
    return torch.float32 if dtype == torch.float16 else dtype


def _new_empty(like: Tensor, dtype: torch.dtype) -> Tensor:
    """A tensor of the same shape, which on the CPU prefers huge pages: its first use then takes far
    fewer page faults."""
    out = like.new_empty(like.shape, dtype=dtype)
    if type(out) is Tensor and out.device.type == "cpu":
        _nine.prefer_huge_pages(out.data_ptr(), out.nbytes)
    return out


def _in_dtype(tensor: Optional[Tensor], dtype: torch.dtype) -> Any:
    if tensor is None or tensor.dtype == dtype:
        return tensor
    return _new_empty(tensor, dtype).copy_(tensor.detach())


def _empty_gradients(
    inputs: Tuple[Any, ...], reduction: str, wanted: int, dtype: Optional[torch.dtype] = None
) -> List[Tensor]:
    """Memory for the gradients, of type dtype; None: the types in which they are kept."""
    return [
        (
            inputs[0].new_empty(0)
            if t is None or reduction == "none" or not wanted >> i & 1
            else _new_empty(t, dtype or _kept_dtype(t.dtype))
        )
        for i, t in enumerate(inputs)
    ]


@_kernel_softmax.register_fake
def _(h, weight, target, bias, prior, context, numbers, token_weight, head, reduction, *settings):
    size = 1 if prior is None else prior.shape[0]
    inputs = (h, weight, bias, prior, context, numbers)
    return (
        h.new_empty(target.shape if reduction == "none" else (), dtype=_computed_dtype(h)),
        h.new_empty((size, h.shape[0]), dtype=torch.float64),
        *_empty_gradients(inputs, reduction, settings[-1]),
    )


def _setup_context(ctx, inputs, output):
    tensors, ctx.settings = inputs[:8], inputs[8:]
    ctx.inputs = [t for t in tensors if t is not None and t.requires_grad]
    _loss, *others = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(*others)
    reduction = ctx.settings[1]
    ctx.dtypes = [None if t is None else t.dtype for t in (*inputs[:2], *inputs[3:7])]
    ctx.save_for_backward(*(tensors if reduction == "none" else others[1:]))


def _is_last_use(grad: Tensor) -> bool:
    """True if the saved gradients are freed after this backward pass, so that it may change them.
    A tracer's tensors say nothing about that."""
    keeps_graph = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", None)
    traced = type(grad) is not Tensor or torch.compiler.is_compiling()
    return not traced and keeps_graph is not None and not keeps_graph()


class _FirstDerivative(torch.autograd.Function):
    """A gradient that depends on the upstream gradient and on the inputs of the loss, and cannot be
    differentiated by them."""

    @staticmethod
    def forward(ctx, gradient, *inputs):
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError("nine has no second derivatives: compute without create_graph=True")


def _backward(ctx, grad, *_):
    if grad is None:
        return (None,) * 16
    keeps_graph = torch.is_grad_enabled()
    with torch.no_grad():
        gradients = _gradients(ctx, grad)
    if keeps_graph:  # the saved gradients are constants, whose derivatives would be 0
        gradients = [
            None if g is None else _FirstDerivative.apply(g, grad, *ctx.inputs) for g in gradients
        ]
    elif _is_last_use(grad):
        ctx.inputs = None  # frees what the graph no longer needs
    h, weight, *others = gradients
    return (h, weight, None, *others, *(None,) * 9)


def _gradients(ctx, grad: Tensor) -> List[Optional[Tensor]]:
    """The gradients of h, weight, bias, prior, context and numbers; None: not asked for."""
    head, reduction, *settings = ctx.settings
    if reduction == "none":
        # The gradients of the weights are sums over rows, so they are computed anew with the rows'
        # own upstream gradients.
        *tensors, token_weight = ctx.saved_tensors
        row_weights = grad.to(torch.float64)
        if token_weight is not None:
            row_weights = row_weights * token_weight
        _, _, *gradients = torch.ops.nine.kernel_softmax(
            *tensors, row_weights, head, "sum", *settings
        )
    else:
        gradients = ctx.saved_tensors
        if not _is_last_use(grad):
            gradients = [g * grad for g in gradients]
        elif grad.item() != 1:
            gradients = [g.mul_(grad) for g in gradients]
    wanted = settings[-1]
    return [
        _in_dtype(g, ctx.dtypes[i]) if wanted >> i & 1 else None for i, g in enumerate(gradients)
    ]


_kernel_softmax.register_autograd(_backward, setup_context=_setup_context)


# --- the function


def _common_dtype(tensors: dict) -> torch.dtype:
    """float64 if all tensors are; else float32, in which bfloat16 and float16 are computed."""
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise TypeError(f"{name} is {type(t).__name__}, and a torch.Tensor was expected")
    double = [name for name, t in tensors.items() if t.dtype == torch.float64]
    for name, t in tensors.items():
        if not t.dtype.is_floating_point:
            raise TypeError(f"{name} is {t.dtype}, and floating-point numbers were expected")
        if not torch.compiler.is_compiling() and forward_ad.unpack_dual(t).tangent is not None:
            raise RuntimeError(
                f"{name} has a tangent, and nine has no derivatives in forward mode: use backward()"
            )
        if t.device.type != "cpu" and not (t.device.type == "cuda" and _nine.has_cuda):
            raise ValueError(
                f"{name} is on {t.device}: this build of nine computes on the CPU"
                f"{' and on CUDA' if _nine.has_cuda else ''}; pass {name}.cpu()"
            )
    first, device = next((name, t.device) for name, t in tensors.items())
    for name, t in tensors.items():
        if t.device != device:
            raise ValueError(f"{name} is on {t.device}, and {first} is on {device}")
    if double and len(double) < len(tensors):
        other = next(name for name in tensors if name not in double)
        raise TypeError(
            f"{double[0]} is torch.float64 and {other} is {tensors[other].dtype}: convert one of "
            "them"
        )
    return torch.float64 if double else torch.float32


def kernel_cross_entropy(
    h: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    head: str = "lin",
    bias: Optional[Tensor] = None,
    prior: Optional[Tensor] = None,
    context: Optional[Tensor] = None,
    numbers: Optional[Tensor] = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    token_weight: Optional[Tensor] = None,
    label_smoothing: float = 0.0,
    margin: str = "none",
    z_loss: float = 0.0,
    return_lse: bool = False,
    memory: str = "blocks",
) -> Any:
    """Computes the cross-entropy of a kernel softmax over words.

    N rows, V words, K components, vectors of d numbers:

    h             (..., d), the contexts: N rows in all
    weight        (V, d), the word vectors; (K, V, d): each component has word vectors of its own
    target        (...), int64 or int32: the word of each row
    head          a head string: a kernel, a mixture or a formula (docs/heads.md, section 9)
    bias          (V)
    prior         (K, d), for mixtures: softmax(prior h) are the components' probabilities
    context       (K, d, d) or (K d, d): component k scores tanh(context[k] h) instead of h
    numbers       (count), the head's learned numbers, see Head.numbers; not given: their initial
                  values, which are then not trained
    reduction     'mean', over the rows that count, weighted by token_weight; 'sum'; 'none'
    ignore_index  the target of rows that do not count
    token_weight  (...), a factor of each row's loss
    margin        'cos:M', 'arc:M' or 'lsm:M' on the target's angle, for heads of lin
    z_loss        adds z_loss * lse^2 to each row's loss, for mixtures the components' mean
    return_lse    returns (loss, lse) where lse (...), for mixtures (..., K), is the log of the sum
                  of the exponentials of the scores; it has no gradient
    memory        'blocks'; 'least': on the CPU, less memory beyond the gradients, and more time

    Computes in float64 if all tensors are float64, and else in float32; so does the result. A row's
    loss does not depend on the other rows, and no bit depends on the number of threads.
    Raises ValueError, TypeError, IndexError (a target that is no word) or nine.Error.
    """
    tensors = {"h": h, "weight": weight, "bias": bias, "prior": prior}
    tensors |= {"context": context, "numbers": numbers}
    given = {name: t for name, t in tensors.items() if t is not None}
    dtype = _common_dtype(given)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}, and one of {_REDUCTIONS} was expected")
    if memory not in _MEMORY:
        raise ValueError(f"memory is {memory!r}, and one of {_MEMORY} was expected")
    if weight.dim() not in (2, 3) or weight.numel() == 0:
        raise ValueError(
            f"weight has the shape {tuple(weight.shape)}, and (words, width) or (components, "
            "words, width) was expected"
        )
    if h.dim() == 0 or h.shape[-1] != weight.shape[-1]:
        raise ValueError(
            f"h of shape {tuple(h.shape)} does not fit weight of shape {tuple(weight.shape)}: the "
            "last sizes differ"
        )
    kind = target.dtype if isinstance(target, Tensor) else type(target).__name__
    if kind not in (torch.int64, torch.int32):
        raise TypeError(f"target is {kind}, and a tensor of int64 or int32 was expected")
    for name, t in (("target", target), ("token_weight", token_weight)):
        if t is not None and t.device != h.device:
            raise ValueError(f"{name} is on {t.device}, and h is on {h.device}")
        if t is not None and t.shape != h.shape[:-1]:
            raise ValueError(
                f"{name} has the shape {tuple(t.shape)}, and {tuple(h.shape[:-1])} was expected: a "
                "number for each row of h"
            )
    if target.numel() == 0:
        raise ValueError(f"h of shape {tuple(h.shape)} has no rows")
    if token_weight is not None and token_weight.requires_grad:
        raise ValueError("token_weight has no gradient: pass token_weight.detach()")

    ordered = [h.reshape(-1, h.shape[-1]), *list(tensors.values())[1:]]
    wanted = 0
    if torch.is_grad_enabled():
        wanted = sum(1 << i for i, t in enumerate(ordered) if t is not None and t.requires_grad)
    loss, lse, *_ = torch.ops.nine.kernel_softmax(
        *ordered[:2],
        target.reshape(-1),
        *ordered[2:],
        None if token_weight is None else token_weight.reshape(-1),
        head,
        reduction,
        ignore_index,
        float(label_smoothing),
        margin,
        float(z_loss),
        memory,
        wanted,
    )
    if reduction == "none":
        loss = loss.reshape(target.shape)
    if not return_lse:
        return loss
    components = () if prior is None else (prior.shape[0],)
    return loss, lse.t().reshape(*target.shape, *components).to(dtype)


# --- the module


class KernelSoftmax(nn.Module):
    """An output layer: word vectors, their loss, and the probabilities of words.

    width: the size of a context; words: the size of the vocabulary; head: see
    kernel_cross_entropy. bias=False leaves out the bias of each word. context: 'tanh' or 'none',
    '' is tanh for mixtures. untied: each component has word vectors of its own. label_smoothing,
    margin and z_loss count while the module trains, and not after eval(). memory: see
    kernel_cross_entropy.

    The names of its tensors are those of Nine's models after "head.": weight, bias, prior.weight,
    latent.weight, scores.INDEX.NUMBER.
    """

    def __init__(
        self,
        width: int,
        words: int,
        head: str = "lin",
        *,
        bias: bool = True,
        context: str = "",
        untied: bool = False,
        ignore_index: int = -100,
        label_smoothing: float = 0.0,
        margin: str = "none",
        z_loss: float = 0.0,
        memory: str = "blocks",
        dtype: Optional[torch.dtype] = None,
    ):
        super().__init__()
        spec = Head(head, context, untied)
        spec.check(width)
        if width < 1 or words < 1:
            raise ValueError(f"there is no output layer of {words} words and width {width}")
        self.width, self.head = width, head
        self.ignore_index = ignore_index
        self.label_smoothing, self.margin, self.z_loss = label_smoothing, margin, z_loss
        self.memory = memory
        kind: Any = {"dtype": dtype}
        shape = (spec.size, words, width) if untied else (words, width)
        self.weight = nn.Parameter(torch.empty(shape, **kind))
        nn.init.normal_(self.weight, std=0.02)
        self.bias = nn.Parameter(torch.zeros(words, **kind)) if bias else None
        # Their initial values are those of nn.Linear.
        linear: Any = {"bias": False, **kind}
        self.prior = nn.Linear(width, spec.size, **linear) if spec.mixture else None
        self.latent = nn.Linear(width, spec.size * width, **linear) if spec.contexts else None
        scores: Dict[str, nn.ParameterDict] = {}
        for name, value in spec.numbers:
            _, component, number = name.split(".")
            numbers = scores.setdefault(component, nn.ParameterDict())
            numbers[number] = nn.Parameter(torch.full((1,), value, **kind))
        self.scores = nn.ModuleDict(scores)
        self._numbers = [tuple(name.split(".")[1:]) for name, _ in spec.numbers]

    @property
    def words(self) -> int:
        return self.weight.shape[-2]

    def extra_repr(self) -> str:
        return f"{self.width}, {self.words}, head={self.head!r}"

    def _weights(self) -> Dict[str, Any]:
        weights: Dict[str, Any] = {"bias": self.bias}
        if self.prior is not None:
            weights["prior"] = self.prior.weight
        if self.latent is not None:
            weights["context"] = self.latent.weight
        if self._numbers:
            scores: Any = self.scores
            weights["numbers"] = torch.cat([scores[c][n] for c, n in self._numbers])
        return weights

    def loss(
        self,
        h: Tensor,
        target: Tensor,
        *,
        reduction: str = "mean",
        token_weight: Optional[Tensor] = None,
        return_lse: bool = False,
    ) -> Any:
        """Computes kernel_cross_entropy with the module's weights."""
        training: Dict[str, Any] = {}
        if self.training:
            training = {
                "label_smoothing": self.label_smoothing,
                "margin": self.margin,
                "z_loss": self.z_loss,
            }
        return kernel_cross_entropy(
            h,
            self.weight,
            target,
            head=self.head,
            **self._weights(),
            reduction=reduction,
            ignore_index=self.ignore_index,
            token_weight=token_weight,
            return_lse=return_lse,
            memory=self.memory,
            **training,
        )

    forward = loss

    def _call(self, function, h: Tensor, *arguments):
        """What a function of _nine returns for the rows of h, computed without gradients."""
        given = {"h": h, "weight": self.weight, **self._weights()}
        dtype = _common_dtype({name: t for name, t in given.items() if t is not None})
        if h.dim() == 0 or h.shape[-1] != self.width:
            raise ValueError(
                f"h has the shape {tuple(h.shape)}, and (..., {self.width}) was expected"
            )
        given = {name: None if t is None else _array(t.to(dtype)) for name, t in given.items()}
        rows = given.pop("h").reshape(-1, self.width)
        _threads.follow(torch.get_num_threads())
        weights = _nine.Weights(**given)
        return function(self.head, rows, weights, *arguments, stream=_stream(h.device))

    def log_prob(self, h: Tensor) -> Tensor:
        """Returns log p of every word, (..., words), without a gradient. Pass many contexts a few
        at a time: the result has rows * words numbers."""
        log_p = torch.from_dlpack(self._call(_nine.log_probabilities, h))
        return log_p.reshape(*h.shape[:-1], self.words).to(h.device, self._result_dtype(h))

    def topk(self, h: Tensor, k: int) -> Tuple[Tensor, Tensor]:
        """Returns log p of the k most probable words, best first, and the words: (..., k) each."""
        words, log_p = self._call(_nine.top_words, h, k)
        shape = (*h.shape[:-1], k)
        values = torch.from_dlpack(log_p).reshape(shape).to(h.device, self._result_dtype(h))
        return values, torch.from_dlpack(words).reshape(shape).to(h.device, torch.int64)

    def sample(self, h: Tensor, *, generator: Optional[torch.Generator] = None) -> Tensor:
        """Draws a word for each context, (...)."""
        at_once = max(32, 2**22 // self.words // 32 * 32)  # contexts; 32 cost as much as one
        parts = [
            torch.multinomial(self.log_prob(rows).exp(), 1, generator=generator)
            for rows in h.reshape(-1, h.shape[-1]).split(at_once)
        ]
        return torch.cat(parts).reshape(h.shape[:-1])

    @staticmethod
    def _result_dtype(h: Tensor) -> torch.dtype:
        return torch.float64 if h.dtype == torch.float64 else torch.float32
