// What the kernels share that need nothing of a vector but its squared norm.
#pragma once

#include <cstdint>

#include "core/random.h"  // NINE_HD
#include "kernels/scores/vectors.h"

namespace nine::scores {

/// A base of kernel structs (kernels/scores/score.h): vectors are whole, |x|^2 is the one
/// statistic.
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
    for (int64_t k = 0; k < n; ++k) dx[k] += static_cast<T>(2 * ds[0] * static_cast<double>(x[k]));
  }

  template <class T>
  NINE_HD static bool is_extreme(const double* stats) {
    return overflows<T>(stats[0]);
  }
};

}  // namespace nine::scores
