// What one weight's update is, shared by all devices: a struct each, made once a step, called once
// a weight.
#pragma once

#include <cmath>

#include "core/ops.h"
#include "core/vmath.h"

namespace nine::ops {

/// What a gradient is multiplied with so that the norm is at most max_norm; PyTorch's
/// clip_grad_norm_ has the 1e-6.
NINE_HD inline double clip_factor(double norm_squared, double max_norm) {
  const double factor = max_norm / (std::sqrt(norm_squared) + 1e-6);
  return factor < 1 ? factor : 1;
}

/// The factors of AdamStep, rounded once.
template <class T>
struct AdamRule {
  T b1, b2, c1, c2, rate, root, eps, l2, shrink;

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
  NINE_HD void operator()(T gradient, T& weight, T& speed) const {
    speed = momentum * speed + (gradient + l2 * weight);
    weight -= rate * speed;
  }
};

}  // namespace nine::ops
