// The optimisers' update formulas, shared by CPU and CUDA. Each rule has a struct, made once for a
// step and called once for each weight. The loops accept any rule.
#pragma once

#include <cmath>
#include <type_traits>
#include <variant>

#include "core/ops.h"
#include "core/vmath.h"

namespace nine::ops {

/// Returns the factor that makes a gradient's norm at most max_norm. PyTorch's clip_grad_norm_ adds
/// the same 1e-6.
NINE_HD inline double clip_factor(double norm_squared, double max_norm) {
  const double factor = max_norm / (std::sqrt(norm_squared) + 1e-6);
  return factor < 1 ? factor : 1;
}

/// A rule's formula for one weight, in type T: rule(gradient, weight, states...).
template <class T, class Step>
struct UpdateRule;

/// Adam and AdamW (see AdamStep). The step's factors are computed once and rounded to T.
template <class T>
struct UpdateRule<T, AdamStep> {
  T b1, b2, c1, c2;  ///< beta1, beta2, 1 - beta1, 1 - beta2
  T rate;            ///< lr / (1 - beta1^t): the bias correction of the first mean
  T root;            ///< 1 / sqrt(1 - beta2^t): the bias correction of the second mean
  T eps;
  T l2;      ///< weight decay as a part of the gradient (Adam)
  T shrink;  ///< factor of the weight (decoupled weight decay, AdamW)

  explicit UpdateRule(const AdamStep& s)
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
struct UpdateRule<T, SgdStep> {
  T rate, momentum, l2;

  explicit UpdateRule(const SgdStep& s)
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

/// Lion (see LionStep). A sign of 0 is 0.
template <class T>
struct UpdateRule<T, LionStep> {
  T b1, b2, c1, c2;  ///< beta1, beta2, 1 - beta1, 1 - beta2
  T rate, shrink;

  explicit UpdateRule(const LionStep& s)
      : b1(static_cast<T>(s.beta1)),
        b2(static_cast<T>(s.beta2)),
        c1(static_cast<T>(1 - s.beta1)),
        c2(static_cast<T>(1 - s.beta2)),
        rate(static_cast<T>(s.lr)),
        shrink(static_cast<T>(1 - s.lr * s.weight_decay)) {}

  NINE_HD void operator()(T gradient, T& weight, T& mean) const {
    const T x = b1 * mean + c1 * gradient;
    weight = shrink * weight - (x > T(0) ? rate : x < T(0) ? -rate : T(0));
    mean = b2 * mean + c2 * gradient;
  }
};

/// Calls f(rule, states...) on the host with the step's rule and its states.
template <class T, class F>
void with_rule(const UpdateStep& step, std::initializer_list<View> states, F&& f) {
  const View* s = states.begin();
  const auto call = [&]<class Step>(const Step& numbers) {
    const UpdateRule<T, Step> rule(numbers);
    if constexpr (std::is_invocable_v<decltype(rule), T, T&>)
      if (states.size() == 0) return f(rule);
    if constexpr (std::is_invocable_v<decltype(rule), T, T&, T&>)
      if (states.size() == 1) return f(rule, s[0]);
    if constexpr (std::is_invocable_v<decltype(rule), T, T&, T&, T&>)
      if (states.size() == 2) return f(rule, s[0], s[1]);
    fail("[", numbers.kName, "] no formula for ", states.size(), " states");
  };
  std::visit(call, step);
}

}  // namespace nine::ops
