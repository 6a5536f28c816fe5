// Activations that are computed again in the backward pass instead of being kept (Chen et al.,
// 2016).
#pragma once

#include "autograd/tape.h"
#include "core/ops.h"

namespace nine {

/// Returns f(x, memory), which must have x's shape, and keeps only the two inputs and the result:
/// the backward pass calls f again to know what is between them. `memory` may be empty. The bits of
/// values and gradients are those of f(x, memory), if each parameter that f reads is read nowhere
/// else. f must be trivially destructible, outlive nothing that it refers to, and use no Var but
/// its arguments; of other Vars it may read values. If the tape records and x needs no gradient,
/// f(x, memory) is recorded as it is. If the tape does not record, what is between is dropped.
template <class F>
Var recomputed(const Var& x, const Var& memory, F f) {
  Tape& tape = x.tape();
  if (tape.recording() && !x.needs_grad()) return f(x, memory);
  const Var y = tape.result("recomputed", x.shape(), x.dtype(), {x, memory});
  // Records, because dropout computes nothing on a tape that does not; what is recorded is dropped.
  tape.nested([&](Tape& inner) {
    ops::copy(f(inner.leaf_of(x), inner.leaf_of(memory)).value(), y.value());
  });
  return tape.record(y, [x, memory, y, f] {
    x.tape().nested([&](Tape& inner) {
      inner.backward(f(inner.leaf_of(x), inner.leaf_of(memory)), y.grad_output());
    });
  });
}

/// Returns f(x, memory), without keeping what is between them where nobody reads it: with
/// `recompute`, and on a tape that does not record. Otherwise everything is recorded as it is.
template <class F>
Var computed(const Var& x, const Var& memory, bool recompute, F f) {
  return recompute || !x.tape().recording() ? recomputed(x, memory, f) : f(x, memory);
}

}  // namespace nine
