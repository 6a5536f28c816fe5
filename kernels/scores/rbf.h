// rbf: the Gaussian radial basis function, a score between 0 and 1.
#pragma once

#include <span>
#include <string>

#include "core/vmath.h"
#include "kernels/scores/radial.h"

namespace nine::scores {

struct Rbf : Radial<Rbf> {
  static constexpr bool kTakesMath = true;
  static constexpr ScoreKind kKind = ScoreKind::rbf;
  static constexpr const char* kName = "rbf";
  static constexpr const char* kNote =
      "S lies in [0, 1]: perplexity >= 1 + (V-1)/e without a bias, >= the unigram perplexity / e "
      "with a bias";
  static constexpr ParameterInfo kParameters[] = {{.name = "gamma",
                                                   .default_value = 1,
                                                   .meaning = "width of the Gaussian, > 0",
                                                   .learnable = Learnable::positive}};

  static KernelExpression expression(const Score&) {
    return {{{"S", "exp(-gamma*q)", "the kernel"}}};
  }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t) {
    return s.parameters[0] > 0 ? "" : "gamma must be > 0";
  }
  Rbf(const Score& s, int64_t) : gamma(s.parameters[0]) {}

  template <class Math = SeriesMath, class T>
  NINE_HD T phi(T q) const {
    return Math::exp(static_cast<T>(-gamma) * q);
  }
  template <class Math = SeriesMath, class T>
  NINE_HD T phi_slope(T q) const {
    return static_cast<T>(-gamma) * Math::exp(static_cast<T>(-gamma) * q);
  }
  template <class T>
  NINE_HD T phi_parameter_slope(int, T q) const {
    return -q * vexp(static_cast<T>(-gamma) * q);
  }

  double gamma;
};

}  // namespace nine::scores
