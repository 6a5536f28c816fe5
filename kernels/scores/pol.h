// pol: a polynomial of the inner product.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "core/random.h"  // NINE_HD
#include "kernels/scores/score.h"

namespace nine::scores {

struct Pol {
  static constexpr ScoreKind kKind = ScoreKind::pol;
  static constexpr const char* kName = "pol";
  static constexpr const char* kNote =
      "p = 1 is the inner product scaled by alpha; then c cancels in the softmax";
  static constexpr int kStats = 0;
  static constexpr bool kExactTarget = false;
  static constexpr int kBits = 10, kFastBits = 2;  ///< of p
  static constexpr ParameterInfo kParameters[] = {
      {.name = "alpha", .default_value = 1, .meaning = "factor of z", .learnable = Learnable::real},
      {.name = "c",
       .default_value = 1,
       .meaning = "added to alpha z",
       .learnable = Learnable::real,
       .symbol = "offset"},
      {.name = "p", .default_value = 2, .meaning = "power, an integer from 1 to 1023"}};

  static KernelExpression expression(const Score&) {
    return {{{"y", "alpha*z+offset", "the base"}, {"S", "y^p", "the kernel"}}};
  }
  static std::span<const ParameterInfo> parameters() { return kParameters; }
  static std::string check(const Score& s, int64_t) {
    const double p = s.parameters[2];
    return p >= 1 && p < (1 << kBits) && p == std::floor(p)
               ? ""
               : "p must be an integer from 1 to 1023 (of a negative base only whole powers are "
                 "numbers)";
  }
  Pol(const Score& s, int64_t)
      : alpha(s.parameters[0]), c(s.parameters[1]), p(static_cast<int>(s.parameters[2])) {}
  NINE_HD int64_t parts() const { return 1; }
  NINE_HD int64_t product_dims(int64_t n) const { return n; }

  /// True if p fits into kFastBits; the power then takes a fifth of the work.
  template <class T>
  NINE_HD bool fast_path_valid(const T*) const {
    return p < (1 << kFastBits);
  }
  template <bool kFast = false, class T>
  NINE_HD T value(T z, const T*, const T*) const {
    return power<kBitsFor<kFast>>(base(z), p);
  }
  template <bool kFast = false, class T>
  NINE_HD Slopes<T, kStats> slopes(T z, const T*, const T*) const {
    return {static_cast<T>(p * alpha) * power<kBitsFor<kFast>>(base(z), p - 1), {}, {}};
  }
  // Slope with respect to alpha, then to c.
  template <class T>
  NINE_HD T parameter_slope(int i, T z, const T*, const T*) const {
    return static_cast<T>(p) * power<kBits>(base(z), p - 1) * (i == 0 ? z : T(1));
  }

  double alpha, c;
  int p;

 private:
  template <bool kFast>
  static constexpr int kBitsFor = kFast ? kFastBits : kBits;

  template <class T>
  NINE_HD T base(T z) const {
    return static_cast<T>(alpha) * z + static_cast<T>(c);
  }
  // Computes x^n by squaring, for n < 2^kBitsOfN, with the same work for every n, so that the code
  // is SIMD. Leaves out squares that no bit of n takes: x^512 is often subnormal, and on an Intel
  // Xeon a training step took twice as long with them.
  template <int kBitsOfN, class T>
  NINE_HD static T power(T x, int n) {
    T y = 1;
#pragma GCC unroll 16
    for (int k = 0; k < kBitsOfN; ++k) {
      y = ((n >> k) & 1) != 0 ? y * x : y;
      x = (n >> k) > 1 ? x * x : x;
    }
    return y;
  }
};

}  // namespace nine::scores
