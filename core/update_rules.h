// The optimisers' update formulas, shared by CPU and CUDA: a struct for each optimiser that is made
// once for a step and called once for each weight.
#pragma once

#include <cmath>

#include "core/ops.h"
#include "core/vmath.h"

namespace nine::ops {

/// The factor that makes a gradient's norm at most max_norm; as in PyTorch's clip_grad_norm_, which
/// also has the 1e-6.
NINE_HD inline double clip_factor(double norm_squared, double max_norm) {
  const double factor = max_norm / (std::sqrt(norm_squared) + 1e-6);
  return factor < 1 ? factor : 1;
}

/// Adam and AdamW (see AdamStep), with the step's factors computed once and rounded to T.
template <class T>
struct AdamRule {
  T b1, b2, c1, c2;  ///< beta1, beta2, and 1 minus them
  T rate;            ///< lr / (1 - beta1^t): the bias correction of the first mean
  T root;            ///< 1 / sqrt(1 - beta2^t): that of the second
  T eps;
  T l2;      ///< weight decay as a part of the gradient (Adam)
  T shrink;  ///< what the weight is multiplied by (decoupled weight decay, AdamW)

  explicit AdamRule(const AdamStep& s)
      : b1(static_cast<T>(s.beta1)),
        b2(static_cast<T>(s.beta2)),
        c1(static_cast<T>(1 - s.beta1)),
        c2(static_cast<T>(1 - s.beta2)),
        rate(static_cast<T>(s.lr / (1 - std::pow(s.beta1, static_cast<double>(s.t))))),
        root(static_cast<T>(1 / std::sqrt(1 - std::pow(s.beta2, static_cast<double>(s.t))))),
        eps(static_cast<T>(s.eps)),
        l2(static_cast<T>(s.decoupled ? 0 : s.weight_decay)),
        shrink(static_cast<T>(s.decoupled ? 1 - s.lr * s.weight_decay : 1)) {}

  NINE_HD void operator()(T gradient, T& weight, T& first, T& second) const {
    const T x = gradient + l2 * weight;
    first = b1 * first + c1 * x;
    second = b2 * second + c2 * (x * x);
    weight = shrink * weight - rate * first / (std::sqrt(second) * root + eps);
  }
};

/// SGD with or without momentum (see SgdStep).
template <class T>
struct SgdRule {
  T rate, momentum, l2;

  explicit SgdRule(const SgdStep& s)
      : rate(static_cast<T>(s.lr)),
        momentum(static_cast<T>(s.momentum)),
        l2(static_cast<T>(s.weight_decay)) {}

  NINE_HD void operator()(T gradient, T& weight) const {
    weight -= rate * (gradient + l2 * weight);
  }
  NINE_HD void operator()(T gradient, T& weight, T& velocity) const {
    velocity = momentum * velocity + (gradient + l2 * weight);
    weight -= rate * velocity;
  }
};

}  // namespace nine::ops
