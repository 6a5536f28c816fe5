// sig: sigsoftmax (Kanai et al., 2018), whose scores are not a linear function of the contexts.
#pragma once

#include <span>
#include <string>

#include "core/random.h"  // NINE_HD
#include "core/vmath.h"
#include "kernels/scores/score.h"

namespace nine::scores {

struct Sig {
  static constexpr ScoreKind kKind = ScoreKind::sig;
  static constexpr const char* kName = "sig";
  static constexpr const char* kNote =
      "2z for z far below 0, z for z far above 0; not limited to rank d";
  static constexpr int kStats = 0;
  static constexpr bool kExactTarget = false;

  static KernelExpression expression(const Score&) {
    return {{{"g", "sigmoid(z)", "the sigmoid"}, {"S", "z+log(g)", "the kernel"}}};
  }
  static std::span<const ParameterInfo> parameters() { return {}; }
  static std::string check(const Score&, int64_t) { return {}; }
  Sig(const Score&, int64_t) {}
  NINE_HD int64_t parts() const { return 1; }
  NINE_HD int64_t product_dims(int64_t n) const { return n; }

  template <class T>
  NINE_HD T value(T z, const T*, const T*) const {
    return z - vsoftplus(-z);
  }
  template <class T>
  NINE_HD Slopes<T, kStats> slopes(T z, const T*, const T*) const {
    return {T(1) + vsigmoid(-z), {}, {}};
  }
};

}  // namespace nine::scores
