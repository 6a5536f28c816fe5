// The formulas of the elementwise ops, shared by CPU and CUDA: a struct for each line of
// core/elementwise_list.h, and visit(), which picks the struct once, outside of the loop over
// elements.
#pragma once

#include <cmath>

#include "core/ops.h"
#include "core/vmath.h"

namespace nine::ops {

// The factor of x in gelu and gelu_tanh is 0 for x < -kGeluEnd (in double from -38 and -21 on), so
// -kGeluEnd replaces any smaller x. -infinity then gives the limit -0 instead of -infinity * 0 =
// NaN. Derivatives limit x on both sides for the same reason.
inline constexpr int kGeluEnd = 40;

// x Phi(x), where Phi(x) is the probability that a number drawn from N(0, 1) is below x.
template <class T>
NINE_HD inline T gelu_value(T x) {
  return (x < T(-kGeluEnd) ? T(-kGeluEnd) : x) * vnormal(x).below;
}
template <class T>
NINE_HD inline T gelu_slope(T x) {
  const T at = vmath_detail::clamp(x, T(-kGeluEnd), T(kGeluEnd));
  const Normal<T> n = vnormal(at);
  return n.below + at * n.density;
}

// x s with s = (1 + tanh(z)) / 2, z = sqrt(2/pi) (x + 0.044715 x^3). s equals sigmoid(2 z), which
// for z < 0 does not subtract two numbers close to 1.
inline constexpr double kGeluTanhSlope = 1.5957691216057307118, kGeluTanhCube = 0.044715;
template <class T>
NINE_HD inline T gelu_tanh_twice_z(T x) {
  return x * (T(kGeluTanhSlope) + T(kGeluTanhSlope * kGeluTanhCube) * (x * x));
}
template <class T>
NINE_HD inline T gelu_tanh_value(T x) {
  return (x < T(-kGeluEnd) ? T(-kGeluEnd) : x) * vsigmoid(gelu_tanh_twice_z(x));
}
template <class T>
NINE_HD inline T gelu_tanh_slope(T x) {
  const T at = vmath_detail::clamp(x, T(-kGeluEnd), T(kGeluEnd)), z = gelu_tanh_twice_z(at);
  // s (1 - s) = e / (1 + e)^2: 1 - s by itself would have no digits where s is close to 1.
  const T e = vexp(z > T(0) ? -z : z), r = T(1) / (T(1) + e), s = (z > T(0) ? T(1) : e) * r;
  return s +
         at * (T(kGeluTanhSlope) + T(3 * kGeluTanhSlope * kGeluTanhCube) * (at * at)) * (e * r * r);
}

// x s with s = sigmoid(x). From -kSiluEnd on s is 0 in double, so that -infinity gives -0.
inline constexpr int kSiluEnd = 800;
template <class T>
NINE_HD inline T silu_value(T x) {
  return (x < T(-kSiluEnd) ? T(-kSiluEnd) : x) * vsigmoid(x);
}
template <class T>
NINE_HD inline T silu_slope(T x) {
  const T at = vmath_detail::clamp(x, T(-kSiluEnd), T(kSiluEnd));
  // s (1 - s) = e / (1 + e)^2, as in gelu_tanh.
  const T e = vexp(at > T(0) ? -at : at), r = T(1) / (T(1) + e), s = (at > T(0) ? T(1) : e) * r;
  return s + at * (e * r * r);
}

/// A struct for each function of one number: value(x, p, q) is y, and derivative(x, y, p, q) is
/// dy/dx, where p and q are the function's parameters.
namespace of_one {
#define NINE_FORMULA_2(NAME, P, P_DEFAULT, Q, Q_DEFAULT, VALUE, DERIVATIVE, ...)                  \
  struct NAME {                                                                                   \
    template <class T>                                                                            \
    NINE_HD static T value(T x, [[maybe_unused]] T P, [[maybe_unused]] T Q) {                     \
      return VALUE;                                                                               \
    }                                                                                             \
    template <class T>                                                                            \
    NINE_HD static T derivative([[maybe_unused]] T x, [[maybe_unused]] T y, [[maybe_unused]] T P, \
                                [[maybe_unused]] T Q) {                                           \
      return DERIVATIVE;                                                                          \
    }                                                                                             \
  };
#define NINE_FORMULA_1(NAME, P, P_DEFAULT, VALUE, DERIVATIVE, ...) \
  NINE_FORMULA_2(NAME, P, P_DEFAULT, second_, , VALUE, DERIVATIVE, )
#define NINE_FORMULA(NAME, VALUE, DERIVATIVE, ...) \
  NINE_FORMULA_2(NAME, first_, , second_, , VALUE, DERIVATIVE, )
NINE_FOR_EACH_UNARY(NINE_FORMULA, NINE_FORMULA_1, NINE_FORMULA_2)
#undef NINE_FORMULA
#undef NINE_FORMULA_1
#undef NINE_FORMULA_2
}  // namespace of_one

/// A struct for each function of two numbers: value(a, b) is y, and slope_a(a, b, y) and slope_b(a,
/// b, y) are dy/da and dy/db.
namespace of_two {
#define NINE_FORMULA(NAME, VALUE, SLOPE_A, SLOPE_B, ...)                                         \
  struct NAME {                                                                                  \
    template <class T>                                                                           \
    NINE_HD static T value(T a, T b) {                                                           \
      return VALUE;                                                                              \
    }                                                                                            \
    template <class T>                                                                           \
    NINE_HD static T slope_a([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T y) { \
      return SLOPE_A;                                                                            \
    }                                                                                            \
    template <class T>                                                                           \
    NINE_HD static T slope_b([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T y) { \
      return SLOPE_B;                                                                            \
    }                                                                                            \
  };
NINE_FOR_EACH_BINARY(NINE_FORMULA)
#undef NINE_FORMULA
}  // namespace of_two

/// Calls body(of_one::neg{}), body(of_one::exp{}), ...: the struct of `f`.
template <class F>
void visit(Unary f, F&& body) {
  switch (f) {
#define NINE_CASE(NAME, ...) \
  case Unary::NAME:          \
    return body(of_one::NAME{});
    NINE_FOR_EACH_UNARY(NINE_CASE, NINE_CASE, NINE_CASE)
#undef NINE_CASE
  }
}

/// Does the same for the functions of gated units, which have no parameters. ops::gated() refuses
/// the others.
template <class F>
void visit_gate(Unary f, F&& body) {
#define NINE_CASE(NAME) \
  if (f == Unary::NAME) return body(of_one::NAME{});
  NINE_FOR_EACH_GATE(NINE_CASE)
#undef NINE_CASE
}

/// Does the same for the functions that take integers. ops::broadcast_binary() refuses the others.
template <class F>
void visit_integer(Binary f, F&& body) {
#define NINE_CASE(NAME) \
  if (f == Binary::NAME) return body(of_two::NAME{});
  NINE_FOR_EACH_INTEGER_BINARY(NINE_CASE)
#undef NINE_CASE
}

/// Calls body(of_two::add{}), body(of_two::sub{}), ...: the struct of `f`.
template <class F>
void visit(Binary f, F&& body) {
  switch (f) {
#define NINE_CASE(NAME, ...) \
  case Binary::NAME:         \
    return body(of_two::NAME{});
    NINE_FOR_EACH_BINARY(NINE_CASE)
#undef NINE_CASE
  }
}

}  // namespace nine::ops
