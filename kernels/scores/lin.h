// lin: the inner product, the score of the usual softmax layer.
#pragma once

#include <span>
#include <string>

#include "core/random.h"  // NINE_HD
#include "kernels/scores/score.h"

namespace nine::scores {

struct Lin {
  static constexpr ScoreKind kKind = ScoreKind::lin;
  static constexpr const char* kName = "lin";
  static constexpr const char* kFormula = "z";
  static constexpr const char* kDerivative = "1";
  static constexpr const char* kNote =
      "the softmax layer everybody uses; the log-probabilities' matrix has rank d + 1 at most, d + "
      "2 with a bias";
  static constexpr int kStats = 0;
  static constexpr bool kExactTarget = false;

  static std::span<const ParameterInfo> parameters() { return {}; }
  static std::string check(const Score&, int64_t) { return {}; }
  Lin(const Score&, int64_t) {}
  NINE_HD int64_t parts() const { return 1; }
  NINE_HD int64_t product_dims(int64_t n) const { return n; }

  template <class T>
  NINE_HD T value(T z, const T*, const T*) const {
    return z;
  }
  template <class T>
  NINE_HD Slopes<T, kStats> slopes(T, const T*, const T*) const {
    return {T(1), {}, {}};
  }
};

}  // namespace nine::scores
