// lin: the inner product, the softmax layer everybody uses.
#pragma once

#include "core/random.h"  // NINE_HD
#include "core/scores/score.h"

namespace nine::scores {

struct Lin {
  static constexpr ScoreKind kKind = ScoreKind::lin;
  static constexpr const char* kName = "lin";
  static constexpr const char* kFormula = "z";
  static constexpr const char* kDerivative = "1";

  explicit Lin(const Score&) {}

  /// S of z = w.h; T is float or double (or a pack of them).
  template <class T>
  NINE_HD T value(T z) const {
    return z;
  }
  /// dS/dz.
  template <class T>
  NINE_HD T derivative(T) const {
    return T(1);
  }
};

}  // namespace nine::scores
