// What the operations of expressions compute, once for all that runs programs: the loops of the CPU
// (run.h) and single pairs, on the CPU and in CUDA kernels (pair_run.h).
#pragma once

#include <cmath>
#include <limits>

#include "core/random.h"  // NINE_HD
#include "kernels/expression/vector_functions.h"

/// X(operation, its value as an expression of T a).
#define NINE_UNARY_OPERATIONS(X)                  \
  X(negate, -a)                                   \
  X(exp, vexp(a))                                 \
  X(log, vlog(a))                                 \
  X(log1p, vlog1p(a))                             \
  X(expm1, vexpm1(a))                             \
  X(sqrt, std::sqrt(a))                           \
  X(abs, a < T(0) ? -a : a)                       \
  X(sign, a > T(0) ? T(1) : a < T(0) ? T(-1) : a) \
  X(tanh, vtanh(a))                               \
  X(sigmoid, vsigmoid(a))                         \
  X(softplus, vsoftplus(a))                       \
  X(sin, vsin(a))                                 \
  X(cos, vcos(a))                                 \
  X(acos, vacos(a))                               \
  X(acosh, vacosh(a))                             \
  X(atan, vatan(a))                               \
  X(erf, verf(a))                                 \
  X(detach, a)

/// X(operation, its value as an expression of T a and T b). Powers are apart: see power_of.
#define NINE_BINARY_OPERATIONS(X) \
  X(add, a + b)                   \
  X(subtract, a - b)              \
  X(multiply, a* b)               \
  X(divide, a / b)                \
  X(min, b < a ? b : a)           \
  X(max, b > a ? b : a)

/// X(operation, its condition on T a and T b).
#define NINE_CHOICES(X) \
  X(less, a < b)        \
  X(less_equal, a <= b)

namespace nine::expression {

/// x^k for an exponent that is the same for all pairs: those up to 4 and -2 by multiplication.
template <class T>
NINE_HD inline T power_of(T x, double k) {
  if (k == 0) return T(1);
  if (k == 1) return x;
  if (k == 2) return x * x;
  if (k == 3) return x * x * x;
  if (k == 4) return (x * x) * (x * x);
  if (k == -1) return T(1) / x;
  if (k == -2) return T(1) / (x * x);
  if (k == 0.5) return std::sqrt(x);
  if (k == -0.5) return T(1) / std::sqrt(x);
  const T below = k != std::floor(k)     ? std::numeric_limits<T>::quiet_NaN()
                  : std::fmod(k, 2) == 0 ? T(1)
                                         : T(-1);
  return vexp(static_cast<T>(k) * vlog(x < T(0) ? -x : x)) * (x < T(0) ? below : T(1));
}

}  // namespace nine::expression
