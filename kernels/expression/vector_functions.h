// Functions of formulas that core/vmath.h lacks. They have no branches, so that loops over them
// become SIMD code, and are accurate to a few units in the last place; vpow to about |y log x|
// units.
#pragma once

#include <cmath>
#include <numbers>

#include "core/vmath.h"

namespace nine::expression {

template <class T>
NINE_HD inline T vatan(T x) {
  const T size = x < T(0) ? -x : x, sign = x < T(0) ? T(-1) : T(1);
  const bool inverted = size > T(1);
  const T t = inverted ? T(1) / size : size;
  // Applies atan t = 2 atan(t / (1 + sqrt(1 + t^2))) twice; then |u| < 0.2.
  const T half = t / (T(1) + std::sqrt(T(1) + t * t)),
          u = half / (T(1) + std::sqrt(T(1) + half * half)), u2 = u * u;
  constexpr int kTerms = std::is_same_v<T, float> ? 6 : 12;
  T series = 0;
#pragma GCC unroll 16
  for (int k = kTerms; k >= 1; --k)
    series = (series + (k % 2 == 1 ? T(-1) : T(1)) / T(2 * k + 1)) * u2;
  const T angle = T(4) * (u + u * series);
  const T half_pi = std::numbers::pi_v<T> / T(2);
  return sign * (inverted ? half_pi - angle : angle);
}

/// Returns acos, NaN outside of [-1, 1].
template <class T>
NINE_HD inline T vacos(T x) {
  return T(2) * vatan(std::sqrt((T(1) - x) / (T(1) + x)));
}

/// Returns acosh, NaN below 1.
template <class T>
NINE_HD inline T vacosh(T x) {
  const T u = x - T(1);
  // Above 1e9 the result is log(2x) to rounding, and u (u + 2) might overflow.
  // Uses factors instead of branches: see vexp.
  const T far = x > T(1e9) ? T(1) : T(0), near = x > T(1e9) ? T(0) : u;
  return vlog1p(near + std::sqrt(near * (near + T(2)))) + far * (vlog(x) + std::numbers::ln2_v<T>);
}

/// Returns 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x.
template <class T>
NINE_HD inline T verf(T x) {
  const T size = x < T(0) ? -x : x, sign = x < T(0) ? T(-1) : T(1);
  const T within = size < T(0.5) ? size : T(0.5), x2 = within * within;
  constexpr int kTerms = std::is_same_v<T, float> ? 7 : 13;
  constexpr auto over = vmath_detail::inverse_factorials<T, kTerms>();
  T series = 0;
#pragma GCC unroll 16
  for (int k = kTerms; k >= 1; --k)
    series = (series + (k % 2 == 1 ? -over[static_cast<size_t>(k)] : over[static_cast<size_t>(k)]) /
                           T(2 * k + 1)) *
             x2;
  const T close = T(2) * std::numbers::inv_sqrtpi_v<T> * (within + within * series);
  const T tail = T(2) * vnormal(-size * std::numbers::sqrt2_v<T>).below;
  const T below = size < T(0.5) ? T(1) : T(0);  // a factor, not a branch: see vexp
  return sign * (below * close + (T(1) - below) * (T(1) - tail)) + (x != x ? x : T(0));
}

/// Returns x^y = e^(y log x), as std::pow except for the sign of zero. The relative error is |y log
/// x| times the logarithm's.
template <class T>
NINE_HD inline T vpow(T x, T y) {
  const T size = x < T(0) ? -x : x;
  const T grown = vexp(y * vlog(size));
  const T half = y / T(2);
  const bool whole = std::floor(y) == y, even = std::floor(half) == half;
  const T below = whole ? (even ? T(1) : T(-1)) : std::numeric_limits<T>::quiet_NaN();
  return y == T(0) ? T(1) : (x < T(0) ? below : T(1)) * grown;
}

}  // namespace nine::expression
