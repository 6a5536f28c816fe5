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
  static constexpr const char* kNote =
      "the usual softmax layer; the matrix of log-probabilities has rank d + 1 at most, with a "
      "bias d + 2";
  static constexpr int kStats = 0;
  static constexpr bool kExactTarget = false, kConstantSlope = true;

  static KernelExpression expression(const Score&) { return {{{"S", "z", "the kernel"}}}; }
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

/// lin with word vectors that are given another norm (docs/margins.md): S = (F / |w|) z.
/// ops::word_scales fills a word's statistics: F / |w|, 0 where |w| = 0, and F, which only the
/// target's score uses. A context's statistics are not used. No head string names this kernel;
/// HeadBlocks uses it instead of lin.
struct ScaledLin {
  static constexpr ScoreKind kKind = ScoreKind::scaled_lin;
  static constexpr const char* kName = "lin";
  static constexpr int kStats = 2;
  static constexpr int kGradients = 1;
  static constexpr bool kExactTarget = false;

  ScaledLin(const Score&, int64_t) {}
  NINE_HD int64_t parts() const { return 1; }
  NINE_HD int64_t product_dims(int64_t n) const { return n; }

  template <class T>
  NINE_HD void stats(const T*, int64_t, double* s) const {
    s[0] = s[1] = 0;
  }
  template <class T>
  NINE_HD void stats_backward(const T*, int64_t, const double*, const double*, T*) const {}
  template <class T>
  NINE_HD T value(T z, const T* w, const T*) const {
    return w[0] * z;
  }
  template <class T>
  NINE_HD Slopes<T, kStats> slopes(T z, const T* w, const T*) const {
    return {w[0], {z, T(0)}, {}};
  }
};

}  // namespace nine::scores
