// The operations of expressions, each stated once: its name in formulas and its computation for the
// loops of the CPU (run.h), for single pairs on the CPU and in CUDA kernels (pair_run.h), in double
// (evaluate.h) and on a page (javascript.h). derivative.cpp has the derivatives.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.h"  // NINE_HD
#include "kernels/expression/vector_functions.h"

// clang-format off

/// X(operation, its name in formulas or "", its value as an expression of T a, its value by the
/// standard library as an expression of double a, its value in JavaScript with # for a, its slope
/// in words).
#define NINE_UNARY_OPERATIONS(X)                                                                 \
  X(negate, "", -a, -a, "-#",                                                                    \
    "constant factor")                                                                           \
  X(exp, "exp", vexp(a), std::exp(a), "Math.exp(#)",                                             \
    "exp is its own slope")                                                                      \
  X(log, "log", vlog(a), std::log(a), "Math.log(#)",                                             \
    "log x has the slope 1/x")                                                                   \
  X(log1p, "log1p", vlog1p(a), std::log1p(a), "Math.log1p(#)",                                   \
    "log(1 + x) has the slope 1/(1 + x)")                                                        \
  X(expm1, "expm1", vexpm1(a), std::expm1(a), "Math.expm1(#)",                                   \
    "e^x - 1 has the slope e^x")                                                                 \
  X(sqrt, "sqrt", std::sqrt(a), std::sqrt(a), "Math.sqrt(#)",                                    \
    "sqrt x has the slope 1/(2 sqrt x)")                                                         \
  X(abs, "abs", a < T(0) ? -a : a, std::abs(a), "Math.abs(#)",                                   \
    "abs has the slope sign, 0 at 0")                                                            \
  X(sign, "sign", a > T(0) ? T(1) : a < T(0) ? T(-1) : a,                                        \
    a > 0 ? 1 : a < 0 ? -1 : a, "Math.sign(#)",                                                  \
    "constant but for a step")                                                                   \
  X(tanh, "tanh", vtanh(a), std::tanh(a), "Math.tanh(#)",                                        \
    "tanh x has the slope 1 - tanh^2 x")                                                         \
  X(sigmoid, "sigmoid", vsigmoid(a), 1 / (1 + std::exp(-a)), "sigmoid(#)",                       \
    "sigmoid x has the slope sigmoid(x) sigmoid(-x)")                                            \
  X(softplus, "softplus", vsoftplus(a),                                                          \
    std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a))), "softplus(#)",                        \
    "softplus has the slope sigmoid")                                                            \
  X(sin, "sin", vsin(a), std::sin(a), "Math.sin(#)",                                             \
    "sin has the slope cos")                                                                     \
  X(cos, "cos", vcos(a), std::cos(a), "Math.cos(#)",                                             \
    "cos has the slope -sin")                                                                    \
  X(acos, "acos", vacos(a), std::acos(a), "Math.acos(#)",                                        \
    "acos x has the slope -1/sqrt(1 - x^2)")                                                     \
  X(acosh, "acosh", vacosh(a), std::acosh(a), "Math.acosh(#)",                                   \
    "acosh x has the slope 1/sqrt(x^2 - 1)")                                                     \
  X(atan, "atan", vatan(a), std::atan(a), "Math.atan(#)",                                        \
    "atan x has the slope 1/(1 + x^2)")                                                          \
  X(erf, "erf", verf(a), std::erf(a), "erf(#)",                                                  \
    "erf x has the slope 2/sqrt(pi) e^(-x^2)")                                                   \
  X(detach, "detach", a, a, "#",                                                                 \
    "no slope")                                                                                 

/// X(operation, its name in formulas or "", its value as an expression of T or double a and b, its
/// value in JavaScript with # for a and $ for b). Powers are separate, because the loops treat
/// their exponents specially. min and max are NaN if either argument is NaN, so that a formula
/// without a value is an error.
#define NINE_BINARY_OPERATIONS(X)                \
  X(add, "", a + b, "# + $")                     \
  X(subtract, "", a - b, "# - $")                \
  X(multiply, "", a * b, "# * $")                \
  X(divide, "", a / b, "# / $")                  \
  X(min, "min", b < a || b != b ? b : a, "Math.min(#, $)")  \
  X(max, "max", b > a || b != b ? b : a, "Math.max(#, $)")

/// X(operation, its condition on T or double a and b, the condition in JavaScript).
#define NINE_CHOICES(X)      \
  X(less, a < b, "# < $")    \
  X(less_equal, a <= b, "# <= $")

// clang-format on

namespace nine::expression {

/// Returns x^k for an exponent that all pairs share; uses multiplication for k up to 4 and for -2.
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
