// log: the logarithm of a power of the distance.
#pragma once

#include <cmath>
#include <span>
#include <string>

#include "core/vmath.h"
#include "kernels/scores/radial.h"

namespace nine::scores {

/// S = -log(1 + q^(p/2)) = -softplus(t) with t = (p/2) log q; its derivative is -(p/2) sigmoid(t) /
/// q.
struct Log : Radial<Log> {
  static constexpr ScoreKind kKind = ScoreKind::log;
  static constexpr const char* kName = "log";
  static constexpr const char* kNote =
      "tails of a power p: p(v|h) falls as q^(-p/2); no gradient at q = 0";
  static constexpr ParameterInfo kParameters[] = {{.name = "p",
                                                   .default_value = 2,
                                                   .meaning = "power of the distance, > 0",
                                                   .learnable = Learnable::positive}};

  static KernelExpression expression(const Score&) {
    return {{{"t", "q^(p/2)", "a power of the distance"}, {"S", "-log(1+t)", "the kernel"}}};
  }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t) {
    return s.parameters[0] > 0 ? "" : "p must be > 0";
  }
  Log(const Score& s, int64_t) : half(s.parameters[0] / 2) {}

  template <class T>
  NINE_HD T phi(T q) const {
    return -vsoftplus(static_cast<T>(half) * vlog(q));
  }
  template <class T>
  NINE_HD T phi_slope(T q) const {
    return static_cast<T>(-half) * vsigmoid(static_cast<T>(half) * vlog(q)) / q;
  }
  NINE_HD double phi_slope_root(double q) const {
    return -half * vsigmoid(half * vlog(q)) / std::sqrt(q);
  }
  template <class T>
  NINE_HD T phi_parameter_slope(int, T q) const {
    const T log_q = vlog(q);
    return T(-0.5) * log_q * vsigmoid(static_cast<T>(half) * log_q);
  }

  double half;  // p/2
};

}  // namespace nine::scores
