// Activations that are computed again in the backward pass instead of being kept (Chen et al.,
// 2016).
#pragma once

#include "autograd/tape.h"
#include "core/ops.h"

namespace nine {

/// Returns f(x), which must have x's shape, and keeps only x and the result: the backward pass
/// calls f again to know what is between them. The bits of values and gradients are those of f(x),
/// if each parameter that f reads is read nowhere else. f must be trivially destructible, outlive
/// nothing that it refers to, and use no Var but its argument. If x needs no gradient, f(x) is
/// recorded as it is.
template <class F>
Var recomputed(const Var& x, F f) {
  Tape& tape = x.tape();
  if (!tape.recording() || !x.needs_grad()) return f(x);
  const Var y = tape.result("recomputed", x.shape(), x.dtype(), {x});
  tape.nested([&](Tape& inner) {
    // Records, and drops the record, because f may have dropout, which NoGrad would switch off.
    ops::copy(f(inner.leaf(x.value())).value(), y.value());
  });
  return tape.record(y, [x, y, f] {
    x.tape().nested([&](Tape& inner) {
      const Var from = inner.leaf(x.value()), to = f(from);
      inner.backward(to, y.grad_output());
      ops::scale(1, from.grad_output(), x.grad_input());
    });
  });
}

}  // namespace nine
