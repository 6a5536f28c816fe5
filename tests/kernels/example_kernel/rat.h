// rat: the rational quadratic function of the distance, the worked example of docs/kernels.md.
#pragma once

#include <span>
#include <string>

#include "kernels/scores/radial.h"

namespace nine::scores {

struct Rat : Radial<Rat> {
  static constexpr ScoreKind kKind = ScoreKind{10};  // the next number
  static constexpr const char* kName = "rat";
  static constexpr const char* kNote =
      "rbf with heavier tails; within (0, 1], so the same bounds hold";
  static constexpr ParameterInfo kParameters[] = {{.name = "gamma",
                                                   .default_value = 1,
                                                   .meaning = "inverse width, > 0",
                                                   .learnable = Learnable::positive}};

  static KernelExpression expression(const Score&) {
    return {{{"S", "1/(1+gamma*q)", "the kernel"}}};
  }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t) {
    return s.parameters[0] > 0 ? "" : "gamma must be > 0";
  }
  Rat(const Score& s, int64_t) : gamma(s.parameters[0]) {}

  template <class T>
  NINE_HD T phi(T q) const {
    return T(1) / (T(1) + static_cast<T>(gamma) * q);
  }
  template <class T>
  NINE_HD T phi_slope(T q) const {
    const T s = phi(q);
    return static_cast<T>(-gamma) * s * s;
  }
  template <class T>
  NINE_HD T phi_parameter_slope(int, T q) const {
    const T s = phi(q);
    return -q * s * s;
  }

  double gamma;
};

}  // namespace nine::scores
