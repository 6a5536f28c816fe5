// The formulas of the reductions, shared by CPU and CUDA: a struct for each line of
// NINE_FOR_EACH_REDUCTION. All are in double; sums and limits of int64 are exact.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/array_ops.h"
#include "core/vmath.h"

namespace nine::ops {

// What the first pass computes, and how the second pass joins terms.
enum class Shift : uint8_t { zero, mean, top };
enum class Join : uint8_t { plus, highest, lowest };

template <Join kJoin>
NINE_HD inline double joined(double a, double b) {
  if constexpr (kJoin == Join::plus) return a + b;
  if constexpr (kJoin == Join::highest) return b > a || b != b ? b : a;
  return b < a || b != b ? b : a;
}
/// Does the same for int64; a sum wraps around.
template <Join kJoin>
NINE_HD inline int64_t joined(int64_t a, int64_t b) {
  if constexpr (kJoin == Join::plus)
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  if constexpr (kJoin == Join::highest) return b > a ? b : a;
  return b < a ? b : a;
}
/// Returns the number that changes nothing when it is joined to others.
template <Join kJoin, class T = double>
NINE_HD constexpr T neutral() {
  if constexpr (std::is_same_v<T, int64_t>) {
    return kJoin == Join::plus ? 0 : (kJoin == Join::highest ? INT64_MIN : INT64_MAX);
  } else {
    return kJoin == Join::plus ? 0.0 : (kJoin == Join::highest ? -HUGE_VAL : HUGE_VAL);
  }
}

/// A struct for each reduction with the functions term(x, m, p), value(t, m, n, p) and
/// derivative(x, y, m, n, equals, p). NINE_FOR_EACH_REDUCTION explains them; p is the parameter.
namespace of_many {
#define NINE_FORMULA_1(NAME, P, P_DEFAULT, SHIFT, TERM, JOIN, VALUE, DERIVATIVE, TEXT)            \
  struct NAME {                                                                                   \
    static constexpr Shift kShift = Shift::SHIFT;                                                 \
    static constexpr Join kJoin = Join::JOIN;                                                     \
    static constexpr bool kCountsEquals =                                                         \
        std::string_view(#DERIVATIVE).find("equals") != std::string_view::npos;                   \
    NINE_HD static double term(double x, [[maybe_unused]] double m, [[maybe_unused]] double P) {  \
      return TERM;                                                                                \
    }                                                                                             \
    NINE_HD static double value(double t, [[maybe_unused]] double m, [[maybe_unused]] double n,   \
                                [[maybe_unused]] double P) {                                      \
      return VALUE;                                                                               \
    }                                                                                             \
    NINE_HD static double derivative([[maybe_unused]] double x, [[maybe_unused]] double y,        \
                                     [[maybe_unused]] double m, [[maybe_unused]] double n,        \
                                     [[maybe_unused]] double equals, [[maybe_unused]] double P) { \
      return DERIVATIVE;                                                                          \
    }                                                                                             \
  };
#define NINE_FORMULA(NAME, SHIFT, TERM, JOIN, VALUE, DERIVATIVE, TEXT) \
  NINE_FORMULA_1(NAME, first_, , SHIFT, TERM, JOIN, VALUE, DERIVATIVE, TEXT)
NINE_FOR_EACH_REDUCTION(NINE_FORMULA, NINE_FORMULA_1)
#undef NINE_FORMULA
#undef NINE_FORMULA_1
}  // namespace of_many

/// Returns m of a reduction with this shift, from the sum or the largest of all x.
template <Shift kShift>
NINE_HD inline double shift_of(double t, double n) {
  if constexpr (kShift == Shift::zero) return 0;
  if constexpr (kShift == Shift::mean) return t / n;
  return t - t == 0 ? t : 0.0;
}
/// How the first pass joins all x.
template <Shift kShift>
inline constexpr Join kShiftJoin = kShift == Shift::top ? Join::highest : Join::plus;

/// Calls body(of_many::sum{}), ...: the struct of `f`.
template <class F>
void visit(Reduction f, F&& body) {
  switch (f) {
#define NINE_CASE(NAME, ...) \
  case Reduction::NAME:      \
    return body(of_many::NAME{});
    NINE_FOR_EACH_REDUCTION(NINE_CASE, NINE_CASE)
#undef NINE_CASE
  }
}

/// Calls body(std::integral_constant<Join, Join::plus>{}), ...: how `f` joins int64. ops::reduce()
/// refuses integers in reductions other than sum, max and min.
template <class F>
void visit_integer(Reduction f, F&& body) {
  if (f == Reduction::sum) return body(std::integral_constant<Join, of_many::sum::kJoin>{});
  if (f == Reduction::max) return body(std::integral_constant<Join, of_many::max::kJoin>{});
  body(std::integral_constant<Join, of_many::min::kJoin>{});
}

/// Calls f(T{}) with float, double or int64_t, as `t` says: the types that order and cumulative
/// sums are computed in. Error: another type; the message names `op`.
template <class F>
void dispatch_ordered(DType t, std::string_view op, F&& f) {
  if (t == DType::int64) return f(int64_t{});
  dispatch_float(t, op, std::forward<F>(f));
}
/// Calls f(T{}) with float, double, uint32_t for int32 or uint64_t for int64: types whose + - *
/// wrap around. Error: another type; the message names `op`.
template <class F>
void dispatch_wrapping(DType t, std::string_view op, F&& f) {
  if (t == DType::int32) return f(uint32_t{});
  if (t == DType::int64) return f(uint64_t{});
  dispatch_float(t, op, std::forward<F>(f));
}
/// The type of the cumulative sums of T.
template <class T>
using SumOf = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

/// The formulas of the comparisons.
namespace compared {
#define NINE_FORMULA(NAME, VALUE, TEXT)   \
  struct NAME {                           \
    template <class T>                    \
    NINE_HD static bool value(T a, T b) { \
      return VALUE;                       \
    }                                     \
  };
NINE_FOR_EACH_COMPARISON(NINE_FORMULA)
#undef NINE_FORMULA
}  // namespace compared

/// Calls body(compared::equal{}), ...: the struct of `f`.
template <class F>
void visit(Comparison f, F&& body) {
  switch (f) {
#define NINE_CASE(NAME, ...) \
  case Comparison::NAME:     \
    return body(compared::NAME{});
    NINE_FOR_EACH_COMPARISON(NINE_CASE)
#undef NINE_CASE
  }
}

/// Returns x as a To, as ops::convert() says.
template <class To, class From>
NINE_HD inline To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // The limits are powers of 2, or next to one, so that the comparisons are exact.
    constexpr double kEnd = sizeof(To) == 8 ? 9223372036854775808.0 : 2147483648.0;
    const auto value = static_cast<double>(x);
    if (value != value) return To(0);
    if (value >= kEnd) return static_cast<To>(sizeof(To) == 8 ? INT64_MAX : INT32_MAX);
    if (value <= -kEnd) return static_cast<To>(sizeof(To) == 8 ? INT64_MIN : INT32_MIN);
    return static_cast<To>(value);
  } else if constexpr (std::is_integral_v<To> && std::is_same_v<From, int64_t> && sizeof(To) == 4) {
    return static_cast<To>(x > INT32_MAX ? INT32_MAX : (x < INT32_MIN ? INT32_MIN : x));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace nine::ops
