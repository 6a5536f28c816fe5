// Distances between results, as the tests state them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace nine::tests {

/// max |a - b| / max |b|; infinite when the sizes differ or a NaN is on either side; absolute where
/// b is zero throughout. With `terms`, those of sums that may cancel, the denominator is at least
/// max |terms|.
inline double relative_error(std::span<const double> a, std::span<const double> b,
                             std::span<const double> terms = {}) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double off = 0, top = 0;
  for (const double term : terms) top = std::max(top, std::abs(term));
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    if (std::isnan(d)) return std::numeric_limits<double>::infinity();
    off = std::max(off, d);
    top = std::max(top, std::abs(b[i]));
  }
  return top > 0 ? off / top : off;
}

}  // namespace nine::tests
