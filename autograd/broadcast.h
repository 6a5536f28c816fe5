// Functions of two numbers with broadcasting by NumPy's rule, for autograd/functions.cpp.
#pragma once

#include "autograd/tape.h"
#include "core/ops.h"

namespace nine {

/// Computes f(a, b) for all shapes that can be broadcast to one, and its gradients. Messages call
/// the function `name`.
Var broadcast_binary(ops::Binary f, const char* name, const Var& a, const Var& b);

/// Writes b's gradient: `gradient`, contiguous and in the shape of a result, summed over the
/// elements that b was broadcast to.
void sum_into(const Var& b, const View& gradient);

}  // namespace nine
