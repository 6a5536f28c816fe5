// The formulas of a GRU's gates and of the logistic loss for single numbers, which the loops of CPU
// and CUDA share.
#pragma once

#include "core/vmath.h"

namespace nine::ops {

/// The gates of one number of a GRU's state, or their gradients.
template <class T>
struct GruGates {
  T r, z, n;
};

/// Computes the gates from their inputs; GruCell in core/ops.h has the formula.
template <class T>
NINE_HD inline GruGates<T> gru_gates(T x_r, T x_z, T x_n, T h_r, T h_z, T h_n) {
  const T r = vsigmoid(x_r + h_r);
  return {r, vsigmoid(x_z + h_z), vtanh(x_n + r * h_n)};
}

/// Returns the gradients of x_r, x_z and x_n, given the gates g, h_n, the state h before the step
/// and dy. That of h_n is r times the one of x_n.
template <class T>
NINE_HD inline GruGates<T> gru_slopes(const GruGates<T>& g, T h_n, T h, T dy) {
  const T n = dy * (T(1) - g.z) * (T(1) - g.n * g.n);
  return {n * h_n * g.r * (T(1) - g.r), dy * (h - g.n) * g.z * (T(1) - g.z), n};
}

/// Returns max(x, 0) - x t + log(1 + e^-|x|).
template <class T>
NINE_HD inline T logistic_loss_of(T x, T t) {
  return vsoftplus(x) - x * t;
}

}  // namespace nine::ops
