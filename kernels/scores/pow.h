// pow: a power of the distance.
#pragma once

#include <span>
#include <string>

#include "core/vmath.h"
#include "kernels/scores/radial.h"

namespace nine::scores {

struct Pow : Radial<Pow> {
  static constexpr bool kTakesMath = true;
  static constexpr ScoreKind kKind = ScoreKind::pow;
  static constexpr const char* kName = "pow";
  static constexpr const char* kNote =
      "p = 2 is the inner product plus a word bias, 2z - |w|^2: |h|^2 cancels in the softmax";
  static constexpr ParameterInfo kParameters[] = {{.name = "p",
                                                   .default_value = 2,
                                                   .meaning = "power of the distance, > 0",
                                                   .learnable = Learnable::positive}};

  static KernelExpression expression(const Score&) { return {{{"S", "-q^(p/2)", "the kernel"}}}; }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t) {
    return s.parameters[0] > 0 ? "" : "p must be > 0";
  }
  Pow(const Score& s, int64_t)
      : half(s.parameters[0] / 2), square(half == 1 ? 1 : 0), exponent(half - square) {}

  template <class Math = SeriesMath, class T>
  NINE_HD T phi(T q) const {
    // Uses factors instead of branches: see vexp.
    const T rest = Math::exp(static_cast<T>(exponent) * vlog(q > T(0) ? q : T(1)));
    return -rest * (static_cast<T>(square) * q + (q > T(0) ? static_cast<T>(1 - square) : T(0)));
  }
  template <class Math = SeriesMath, class T>
  NINE_HD T phi_slope(T q) const {
    return static_cast<T>(-half) * Math::exp(static_cast<T>(half - 1) * vlog(q));
  }
  NINE_HD double phi_slope_root(double q) const { return -half * vexp((half - 0.5) * vlog(q)); }
  template <class T>
  NINE_HD T phi_parameter_slope(int, T q) const {
    const T log_q = vlog(q);
    return T(-0.5) * log_q * vexp(static_cast<T>(half) * log_q);
  }

  double half;  // p/2
  // q^(p/2) = (square == 1 ? q : 1) * q^exponent, so that p = 2 gives q itself and not exp(log q).
  double square, exponent;
};

}  // namespace nine::scores
