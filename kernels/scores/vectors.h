// Sums over two vectors in double, in eight lanes, which vectorise, and always in the same order.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/random.h"  // NINE_HD

namespace nine::scores {

/// How loops visit the numbers of vectors. One thread visits a vector of floats or doubles. For the
/// vectors of kernels/scores/cuda/warp_vectors.cuh the threads of a warp share the numbers; all
/// threads of the warp call these functions and get the same sums.
template <class T>
struct Visit {
  /// Returns the sum over k < n of term(k), a double.
  template <class Term>
  NINE_HD static double sum(int64_t n, Term&& term) {
    constexpr int kLanes = 8;
    double lanes[kLanes] = {};
    int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes)
      for (int j = 0; j < kLanes; ++j) lanes[j] += term(k + j);
    for (int j = 0; j < kLanes; ++j)  // no index but j, because on a GPU another index needs memory
      if (k + j < n) lanes[j] += term(k + j);
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
           ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  }
  /// Calls f(k) for all k < n.
  template <class F>
  NINE_HD static void each(int64_t n, F&& f) {
    for (int64_t k = 0; k < n; ++k) f(k);
  }
  /// Calls f() once, for work on a single number.
  template <class F>
  NINE_HD static void once(F&& f) {
    f();
  }
};

/// Returns the sum over k < n of term(k), a double, for vectors of T.
template <class T = double, class Term>
NINE_HD double sum_of(int64_t n, Term&& term) {
  return Visit<T>::sum(n, term);
}

template <class T>
NINE_HD double dot(const T* a, const T* b, int64_t n) {
  return sum_of<T>(
      n, [a, b](int64_t k) { return static_cast<double>(a[k]) * static_cast<double>(b[k]); });
}

template <class T>
NINE_HD double square_norm(const T* x, int64_t n) {
  return dot(x, x, n);
}

/// Returns 1, or a power of two that scales vectors with this largest norm so that sums of squares
/// do not overflow.
NINE_HD inline double safe_scale(double norm) { return norm > 0x1p500 ? 0x1p-600 : 1; }

/// Returns |x|, also if |x|^2 overflows double or underflows and loses digits.
template <class T>
NINE_HD double norm(const T* x, int64_t n) {
  const double square = square_norm(x, n);
  if (square > 0x1p-960 && square < std::numeric_limits<double>::infinity())
    return std::sqrt(square);
  const double scale = square < 1 ? 0x1p600 : 0x1p-600;
  return std::sqrt(sum_of<T>(n,
                             [x, scale](int64_t k) {
                               const double scaled = static_cast<double>(x[k]) * scale;
                               return scaled * scaled;
                             })) /
         scale;
}

/// Returns factor * x. Computes in double when `factor` overflows T, which happens if a very short
/// vector is given a norm.
template <class T>
NINE_HD T scaled(double factor, T x) {
  return factor <= static_cast<double>(std::numeric_limits<T>::max())
             ? static_cast<T>(factor) * x
             : static_cast<T>(factor * static_cast<double>(x));
}

/// True if the sum of two such squared norms, or twice the product of two vectors with these norms,
/// might overflow T.
template <class T>
NINE_HD bool overflows(double square_norm) {
  return !(square_norm < static_cast<double>(std::numeric_limits<T>::max()) / 8);
}

/// Returns |a - b|^2 as a sum of squared differences, which does not cancel.
template <class T>
NINE_HD double square_distance(const T* a, const T* b, int64_t n) {
  return sum_of<T>(n, [a, b](int64_t k) {
    const double e = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    return e * e;
  });
}

/// A base of kernel structs (kernels/scores/score.h) whose only statistic is a vector's squared
/// norm.
struct SquaredNorm {
  static constexpr int kStats = 1;

  NINE_HD int64_t parts() const { return 1; }
  NINE_HD int64_t product_dims(int64_t n) const { return n; }

  template <class T>
  NINE_HD void stats(const T* x, int64_t n, double* s) const {
    s[0] = square_norm(x, n);
  }
  template <class T>
  NINE_HD void stats_backward(const T* x, int64_t n, const double*, const double* ds, T* dx) const {
    Visit<T>::each(
        n, [&](int64_t k) { dx[k] += static_cast<T>(2 * ds[0] * static_cast<double>(x[k])); });
  }

  template <class T>
  NINE_HD static bool is_extreme(const double* stats) {
    return overflows<T>(stats[0]);
  }
};

}  // namespace nine::scores
