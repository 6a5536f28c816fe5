// The ops that NumPy's users expect, on plain views: broadcasting, reductions over any dimension,
// moving, picking and sorting elements. They follow the conventions of core/ops.h;
// autograd/arrays.h has them as differentiable functions.
//
// The ops with StridedView arguments read or write elements at any strides. All other ops of this
// file take contiguous views. An op over one dimension takes its tensor as (outer, n, inner). Here
// n is the size of the dimension, outer the product of the dimensions before it, and inner the
// product of those after it. So such an op works along any dimension of a contiguous tensor without
// a copy. Indices are int32 or int64; as in NumPy, -1 is the last index.
#pragma once

#include "core/elementwise_list.h"
#include "core/ops.h"
#include "core/strided.h"

namespace nine::ops {

/// Sets y = x, same shape, for all types. A number with a fraction is cut towards 0; NaN becomes 0,
/// and a number outside of an integer type becomes its nearest limit. A bool is true if x != 0, and
/// counts as 0 or 1.
void convert(const View& x, const View& y);
/// Sets y = x or, with `add`, y += x, for views of one shape and type. No two elements of y may be
/// at one address, which the op does not check. With `add` the type is float32 or float64.
void copy_strided(const StridedView& x, const StridedView& y, bool add);

/// Computes y = f(a, b); a and b have been broadcast to y's shape. Those of
/// NINE_FOR_EACH_INTEGER_BINARY also take int32 and int64, and wrap around.
void broadcast_binary(Binary f, const StridedView& a, const StridedView& b, const View& y);
/// Computes d = dy * df/da or, with `second`, d = dy * df/db, given y = f(a, b); a and b have been
/// broadcast to y's shape, the shape of d.
void broadcast_binary_backward(Binary f, bool second, const StridedView& a, const StridedView& b,
                               const View& y, const View& dy, const View& d);
/// Comparisons: the lines of NINE_FOR_EACH_COMPARISON.
enum class Comparison : uint8_t {
#define NINE_NAME(NAME, ...) NAME,
  NINE_FOR_EACH_COMPARISON(NINE_NAME)
#undef NINE_NAME
};
/// Computes y = f(a, b), a bool; a and b have one type, any but bfloat16, and have been broadcast
/// to y's shape.
void compare(Comparison f, const StridedView& a, const StridedView& b, const View& y);
/// Computes y = a where `condition` (bool) is true, and b elsewhere, all broadcast to y's shape.
void select(const StridedView& condition, const StridedView& a, const StridedView& b,
            const View& y);

/// Reductions: the lines of NINE_FOR_EACH_REDUCTION.
enum class Reduction : uint8_t {
#define NINE_NAME(NAME, ...) NAME,
  NINE_FOR_EACH_REDUCTION(NINE_NAME, NINE_NAME)
#undef NINE_NAME
};
/// True if reduce() takes int64.
constexpr bool takes_int64(Reduction f) {
  return f == Reduction::sum || f == Reduction::max || f == Reduction::min;
}
/// True if no numbers have no value.
constexpr bool needs_one(Reduction f) {
  return f == Reduction::max || f == Reduction::min || f == Reduction::logsumexp;
}
/// Computes y(o, i) = f(x(o, :, i)): x (outer, n, inner), y outer * inner elements. p is the
/// parameter of f. sum, max and min also take int64, exactly; a sum wraps around. Error: max, min
/// and logsumexp of no numbers.
void reduce(Reduction f, const View& x, const View& y, double p = 0);
/// Computes dx(o, j, i) = dy(o, i) * dy(o, i)/dx(o, j, i), given y from reduce().
void reduce_backward(Reduction f, const View& x, const View& y, const View& dy,
                     const OutputView& dx, double p = 0);
/// Sets ids(o, i) to the first j where x(o, j, i) is largest or, unless `largest`, smallest; NaN
/// counts as both. x (outer, n, inner) is float or int64; ids int64, outer * inner elements. Error:
/// n is 0.
void arg_reduce(bool largest, const View& x, const View& ids);

/// Computes y(o, j, i) = x(o, ids[j], i) or, with `along`, x(o, ids(o, j, i), i): x (outer, n,
/// inner), y (outer, m, inner), any one type. Error: an index outside of [-n, n); the message names
/// `op`, a string literal.
void take(const View& x, const View& ids, bool along, const View& y, const char* op = "take");
/// Computes dx(o, ids[j], i) += dy(o, j, i), or with `along` dx(o, ids(o, j, i), i) += dy(o, j, i),
/// in ascending order of j. Also takes int32 and int64, which wrap around. Error: as take().
void take_backward(const View& dy, const View& ids, bool along, const View& dx,
                   const char* op = "take_backward");

/// Computes y(o, j, i) = x(o, 0, i) + ... + x(o, j, i) or, with `reverse`, x(o, j, i) + ... +
/// x(o, n - 1, i): x and y (outer, n, inner); sums are in double, or in int64 of int64, and wrap
/// around.
void cumsum(const View& x, bool reverse, const OutputView& y);
/// Sets ids(r, :) to the indices of the k first numbers of row r of x in ascending or descending
/// order: x (rows, n) is float or int64; ids int64 (rows, k). Equal numbers keep their order. NaN
/// counts as the largest number.
void sort(const View& x, bool descending, const View& ids);

}  // namespace nine::ops
