// The sum of two numbers that are known by their logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace nine {

/// Returns log(e^a + e^b), also if both exponentials are 0 in double.
inline double log_add(double a, double b) {
  if (a == -std::numeric_limits<double>::infinity()) return b;
  if (b == -std::numeric_limits<double>::infinity()) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

}  // namespace nine
