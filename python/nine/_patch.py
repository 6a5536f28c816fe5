"""patch: a kernel softmax as the output layer of a causal model of `transformers`."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Optional, TypeVar

import torch
from torch import Tensor, nn

_Model = TypeVar("_Model", bound=nn.Module)


def _head_class(base: Any) -> Any:
    class PatchedHead(base):
        """KernelSoftmax in the place of a model's lm_head."""

        #: True during a call of the model with labels, which need the contexts and no logits.
        passes_contexts = False
        contexts: Optional[Tensor] = None
        computed_loss = False

        def forward(self, h: Tensor) -> Tensor:
            if self.passes_contexts:
                self.contexts = h
                return h
            if self.training and torch.is_grad_enabled():
                raise ValueError(
                    "a patched model computes its loss itself: pass labels=, or call it under "
                    "torch.no_grad() or after eval() for log-probabilities"
                )
            return self.log_prob(h)

    return PatchedHead


def _causal_loss(
    model: Any,
    logits: Tensor,
    labels: Optional[Tensor] = None,
    vocab_size: Optional[int] = None,
    *,
    num_items_in_batch=None,
    ignore_index: int = -100,
    shift_labels: Optional[Tensor] = None,
    **_,
) -> Tensor:
    """What ForCausalLMLoss of transformers computes, from contexts instead of logits."""
    head = model.get_output_embeddings()
    if logits is not head.contexts:
        raise ValueError(
            f"{type(model).__name__} changes its logits before the loss, which patch() cannot do: "
            "use nine.torch.KernelSoftmax in a model of your own"
        )
    if shift_labels is None:
        assert labels is not None
        shift_labels = nn.functional.pad(labels, (0, 1), value=ignore_index)[..., 1:]
    head.ignore_index, head.computed_loss = ignore_index, True
    mean = num_items_in_batch is None
    loss = head.loss(logits, shift_labels.contiguous(), reduction="mean" if mean else "sum")
    return loss if mean else loss / num_items_in_batch


def _patched_class(cls: Any) -> type:
    plain = cls.forward
    parameters = inspect.signature(plain)

    @functools.wraps(plain)
    def forward(self, *args, **kwargs):
        given = parameters.bind(self, *args, **kwargs).arguments
        if given.get("labels") is None:
            return plain(self, *args, **kwargs)
        head = self.get_output_embeddings()
        head.passes_contexts, head.computed_loss = True, False
        try:
            out = plain(self, *args, **kwargs)
        finally:
            head.passes_contexts, head.contexts = False, None
        if not head.computed_loss:
            raise ValueError(
                f"{cls.__name__} computes its loss in another way than by its loss_function, which "
                "patch() cannot do: use nine.torch.KernelSoftmax in a model of your own"
            )
        if isinstance(out, tuple):
            return (out[0], None, *out[2:])
        out["logits"] = None
        return out

    # The names are those of the class, which transformers writes into config.json.
    return type(
        cls.__name__,
        (cls,),
        {
            "forward": forward,
            "loss_function": property(lambda self: functools.partial(_causal_loss, self)),
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
        },
    )


def patch(model: _Model, head: str = "lin", **settings) -> _Model:
    """Replaces the output layer and the loss of a causal model of `transformers`, in place.

    The module lm_head (get_output_embeddings()) becomes a KernelSoftmax with `head`, whose word
    vectors and bias are those of lm_head, tied to the input embeddings if they were. Its other
    weights are new, named lm_head.prior.weight, ... `settings` are those of KernelSoftmax: context,
    label_smoothing, margin, z_loss.

    With labels, the model's output has the loss of transformers' ForCausalLMLoss under this head,
    and None for the logits, which are never computed. Without labels, `logits` are the
    log-probabilities, without a gradient, so generate() works as before. save_pretrained() writes
    the key nine_head into config.json, by which Nine opens the folder with this head; transformers
    opens it as a model with an inner product. Returns the model.
    Errors: TypeError for another kind of model; UsageError for a wrong head.
    """
    from .torch import KernelSoftmax

    changed: Any = model
    output = getattr(model, "get_output_embeddings", lambda: None)()
    # A name that transformers does not know stands for the loss of causal models.
    causal = hasattr(type(model), "loss_function") and (
        getattr(model, "loss_type", None) in (None, "ForCausalLM")
    )
    if not isinstance(output, nn.Linear) or not causal:
        raise TypeError(
            f"{type(model).__name__} is no causal language model of transformers with an lm_head; "
            "use nine.torch.KernelSoftmax in a model of your own"
        )
    words, width = output.weight.shape
    new = _head_class(KernelSoftmax)(
        width, words, head, bias=output.bias is not None, dtype=output.weight.dtype, **settings
    )
    new.weight = output.weight
    if output.bias is not None:
        new.bias = output.bias
    new.train(output.training)
    changed.set_output_embeddings(new)
    if hasattr(model, "config"):
        changed.config.nine_head = head  # save_pretrained() writes it
    model.__class__ = _patched_class(type(model))
    return model
