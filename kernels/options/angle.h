// Computes the score F G psi(c) of a word vector and a context, and its gradients
// (docs/margins.md). c = cos theta, and theta is the angle between the vectors. F and G are the
// norms to which the vectors are scaled; psi is the function of the margin. CPU, CUDA and
// kernel_inspect share this code.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/log_sum_exp.h"
#include "kernels/options/margin.h"
#include "kernels/scores/vectors.h"

namespace nine::scores {

/// The values psi(c) and d psi / dc.
struct AngleScore {
  double value, slope;
};

/// Returns psi and its slope. `sine` is sin theta >= 0, because c does not determine sin theta to
/// full precision for small theta.
NINE_HD inline AngleScore margin_at(const Margin& margin, double c, double sine) {
  const double m = margin.size;
  switch (margin.kind) {
    case Margin::Kind::cos:
      return {c - m, 1};
    case Margin::Kind::arc: {
      const double cos_m = std::cos(m), sin_m = std::sin(m);
      if (c < -cos_m) return {c - m * sin_m, 1};  // theta > pi - m
      // The slope sin(theta + m) / sin theta grows without bound towards theta = 0. Its factor
      // vanishes like sin theta, except for rounding errors. So the slope is made small for
      // parallel vectors.
      constexpr double kLeastSine = 1e-9;
      return {c * cos_m - sine * sin_m,
              cos_m + (sine > kLeastSine ? c * sin_m / sine
                                         : c * sin_m * (sine / (kLeastSine * kLeastSine)))};
    }
    case Margin::Kind::lsm: {
      const int n = static_cast<int>(m);
      // Computes T_n(c) and U_(n-1)(c) by their recurrence, which does not divide by sin theta.
      double before = 1, now = c, below = 0, u = 1;  // T_0, T_1, U_-1, U_0
      for (int i = 1; i < n; ++i) {
        const double next = 2 * c * now - before, above = 2 * c * u - below;
        before = now, now = next, below = u, u = above;
      }
      constexpr double kPi = 3.14159265358979323846;
      const double turns = std::floor(m * std::atan2(sine, c) / kPi),
                   k = turns < m - 1 ? turns : m - 1;
      const double sign = std::fmod(k, 2.0) == 0 ? 1 : -1;
      return {sign * now - 2 * k, sign * m * u};
    }
    case Margin::Kind::none:
      break;
  }
  return {c, 1};
}

/// The numbers of one component from which log p of a target without its margin follows: the
/// logarithm of the prior, the log sum of exponentials with the margin in the target's score, and
/// the target's score with and without the margin.
struct TargetScores {
  double log_prior, lse, margined, plain;
};
/// Returns log p(target) of a mixture of `size` components without the margin. of(k) returns
/// component k's TargetScores. Let e^a be the other words' share, and e^b the share of the target
/// without margin, both relative to the sum of exponentials with the margin. Then the component's
/// log p is -log(1 + e^(a - b)).
template <class F>
NINE_HD double plain_log_p(int64_t size, F&& of) {
  LogSumExp all;
  for (int64_t k = 0; k < size; ++k) {
    const TargetScores s = of(k);
    const double others = -std::expm1(s.margined - s.lse),
                 x = std::log(others > 0 ? others : 0.0) - (s.plain - s.lse),
                 softplus = x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)),
                 log_joint = s.log_prior - softplus;
    if (size == 1) return log_joint;
    all.add(log_joint);
  }
  return all.value();
}

/// Pointers to the norms F and G of a word vector and a context; null: the vector keeps its norm.
struct GivenNorms {
  const double *word = nullptr, *context = nullptr;
};

/// A word vector w and a context h of n numbers, and the numbers that their score needs. If a
/// vector has length 0, c is 0, and no gradient passes through its direction.
template <class T>
struct AnglePair {
  const T *w, *h;
  int64_t n;
  double w_norm, h_norm, cosine = 0, sine = 1;
  double word_scale, context_scale;  ///< F and G, if the norms are given
  bool own_word, own_context;        ///< true if F = |w|; true if G = |h|

  NINE_HD AnglePair(const T* word, const T* context, int64_t size, const GivenNorms& given = {})
      : w(word),
        h(context),
        n(size),
        w_norm(norm(word, size)),
        h_norm(norm(context, size)),
        word_scale(given.word != nullptr ? *given.word : w_norm),
        context_scale(given.context != nullptr ? *given.context : h_norm),
        own_word(given.word == nullptr),
        own_context(given.context == nullptr) {
    if (!(w_norm > 0) || !(h_norm > 0)) return;
    const double by_w = 1 / w_norm, by_h = 1 / h_norm;
    const auto unit_w = [&](int64_t k) { return static_cast<double>(word[k]) * by_w; };
    const auto unit_h = [&](int64_t k) { return static_cast<double>(context[k]) * by_h; };
    const double c = sum_of<T>(size, [&](int64_t k) { return unit_w(k) * unit_h(k); });
    cosine = c > 1 ? 1 : c < -1 ? -1 : c;
    // Computes sin theta = |w/|w| - h/|h|| |w/|w| + h/|h|| / 2, which has no cancellation.
    const auto square = [](double x) { return x * x; };
    const double apart = sum_of<T>(size, [&](int64_t k) { return square(unit_w(k) - unit_h(k)); }),
                 sum = sum_of<T>(size, [&](int64_t k) { return square(unit_w(k) + unit_h(k)); }),
                 s = std::sqrt(apart) * std::sqrt(sum) / 2;
    sine = s < 1 ? s : 1;
  }

  /// Returns the score F G psi(c).
  NINE_HD double score(const AngleScore& psi) const {
    return word_scale * context_scale * psi.value;
  }
  /// Return d score / dF and d score / dG.
  NINE_HD double by_word_scale(const AngleScore& psi) const { return context_scale * psi.value; }
  NINE_HD double by_context_scale(const AngleScore& psi) const { return word_scale * psi.value; }
  /// Computes dw += up * d score / dw and dh += up * d score / dh through the directions of the
  /// vectors and, if F or G are the vectors' own norms, through these norms. dw or dh may be null.
  /// If both vectors keep their norms, the gradient at a vector of length 0 is that of the inner
  /// product: psi'(0) times the other vector.
  NINE_HD void add_gradients(const AngleScore& psi, double up, T* dw, T* dh) const {
    const double by_w = w_norm > 0 ? 1 / w_norm : 0, by_h = h_norm > 0 ? 1 / h_norm : 0;
    const double f_over_w = own_word ? 1 : word_scale * by_w,
                 g_over_h = own_context ? 1 : context_scale * by_h;
    // Through the direction of w: (F G / |w|) psi' (h/|h| - c w/|w|). Through the length of w: G
    // psi w/|w|.
    const double turn_w = up * f_over_w * context_scale * psi.slope * by_h,
                 along_w = (up * (own_word ? context_scale * psi.value : 0) -
                            up * f_over_w * context_scale * psi.slope * cosine) *
                           by_w,
                 turn_h = up * g_over_h * word_scale * psi.slope * by_w,
                 along_h = (up * (own_context ? word_scale * psi.value : 0) -
                            up * g_over_h * word_scale * psi.slope * cosine) *
                           by_h;
    Visit<T>::each(n, [&](int64_t k) {
      const double of_w = static_cast<double>(w[k]), of_h = static_cast<double>(h[k]);
      if (dw != nullptr) dw[k] += static_cast<T>(turn_w * of_h + along_w * of_w);
      if (dh != nullptr) dh[k] += static_cast<T>(turn_h * of_w + along_h * of_h);
    });
  }
};

}  // namespace nine::scores
