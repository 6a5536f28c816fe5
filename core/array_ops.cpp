// Checks the views, counts the cost and calls the device's implementation of each op of
// core/array_ops.h.
#include "core/array_ops.h"

#include <algorithm>

#include "core/op_checks.h"
#include "core/op_table.h"
#include "core/profile.h"

namespace nine::ops {

using namespace checks;
using profile::Scope;

namespace {

// Requires that v is contiguous and not an empty view.
void is_packed(const char* op, const char* what, const View& v) {
  is_given(op, what, v);
  require(v.contiguous(), "[", op, "] ", what, " must be contiguous, but a row of ", v.cols(),
          " elements begins ", v.ld, " elements after another");
}
// Requires that v is a contiguous float tensor (outer, n, inner).
void is_lines(const char* op, const char* what, const View& v) {
  is_packed(op, what, v);
  require(v.shape.rank() == 3, "[", op, "] ", what, " must be (outer, n, inner), not ", v.shape);
}
// Requires that v and the others have one type and device; the type may be a float type or one of
// `integers`.
void same_numbers(const char* op, std::initializer_list<DType> integers, const View& v,
                  std::initializer_list<const View*> others) {
  if (std::find(integers.begin(), integers.end(), v.dtype) == integers.end())
    return same_kind(op, v, others);
  for (const View* other : others) {
    require(other->dtype == v.dtype, "[", op, "] mixes ", v.dtype, " and ", other->dtype);
    same_device(op, v, *other);
  }
}
// Requires that a strided view has y's shape and device, and this type.
void fits_result(const char* op, const char* what, const StridedView& x, const View& y,
                 DType dtype) {
  require(x.data != nullptr || x.elements() == 0, "[", op, "] ", what, " is an empty tensor");
  require(x.shape == y.shape, "[", op, "] ", what, " has shape ", x.shape,
          " but the result has shape ", y.shape);
  require(x.dtype == dtype, "[", op, "] ", what, " must be ", dtype, ", got ", x.dtype);
  require(x.device == y.device, "[", op, "] mixes ", x.device, " and ", y.device);
}
// Requires that the ids of take() fit x (outer, n, inner) and y (outer, m, inner).
void check_picks(const char* op, const View& x, const View& ids, bool along, const View& y) {
  is_lines(op, "x", x);
  is_lines(op, "y", y);
  is_packed(op, "the index tensor", ids);
  same_device(op, x, y);
  same_device(op, x, ids);
  require(x.dtype == y.dtype, "[", op, "] mixes ", x.dtype, " and ", y.dtype);
  require(ids.dtype == DType::int32 || ids.dtype == DType::int64, "[", op,
          "] indices must be int32 or int64, got ", ids.dtype);
  require(x.shape[0] == y.shape[0] && x.shape[2] == y.shape[2], "[", op, "] x of shape ", x.shape,
          " does not fit y of shape ", y.shape);
  require(ids.elements() == (along ? y.elements() : y.shape[1]), "[", op, "] ", ids.elements(),
          " indices do not fit y of shape ", y.shape);
}

}  // namespace

void convert(const View& x, const View& y) {
  same_shape("convert", "x", x, "y", y);
  same_device("convert", x, y);
  Scope scope("convert", 0, bytes(x, y));
  op_table(x.device).convert(x, y);
}

void copy_strided(const StridedView& x, const StridedView& y, bool add) {
  const char* const op = "copy_strided";
  require((x.data != nullptr && y.data != nullptr) || x.elements() == 0, "[", op,
          "] x or y is an empty tensor");
  require(x.shape == y.shape, "[", op, "] x has shape ", x.shape, " but y has shape ", y.shape);
  require(x.dtype == y.dtype, "[", op, "] mixes ", x.dtype, " and ", y.dtype);
  require(x.device == y.device, "[", op, "] mixes ", x.device, " and ", y.device);
  require(!add || x.dtype == DType::float32 || x.dtype == DType::float64, "[", op,
          "] can add float32 and float64 only, not ", x.dtype);
  Scope scope(op, 0, bytes(x, y));
  op_table(x.device).copy_strided(x, y, add);
}

void broadcast_binary(Binary f, const StridedView& a, const StridedView& b, const View& y) {
  const char* const op = "broadcast_binary";
  is_packed(op, "y", y);
#define NINE_VALUE(NAME) Binary::NAME,
  constexpr Binary kOfIntegers[] = {NINE_FOR_EACH_INTEGER_BINARY(NINE_VALUE)};
#undef NINE_VALUE
  if (std::ranges::find(kOfIntegers, f) != std::end(kOfIntegers)) {
    same_numbers(op, {DType::int32, DType::int64}, y, {});
  } else {
    same_kind(op, y, {});
  }
  fits_result(op, "a", a, y, y.dtype);
  fits_result(op, "b", b, y, y.dtype);
  Scope scope(op, count(y), 3 * bytes(y));
  op_table(y.device).broadcast_binary(f, a, b, y);
}

void broadcast_binary_backward(Binary f, bool second, const StridedView& a, const StridedView& b,
                               const View& y, const View& dy, const View& d) {
  const char* const op = "broadcast_binary_backward";
  for (const View* v : {&y, &dy, &d}) is_packed(op, "y, dy or d", *v);
  same_shape(op, "y", y, "dy", dy);
  same_shape(op, "y", y, "d", d);
  same_kind(op, y, {&dy, &d});
  fits_result(op, "a", a, y, y.dtype);
  fits_result(op, "b", b, y, y.dtype);
  Scope scope(op, 3 * count(y), 5 * bytes(y));
  op_table(y.device).broadcast_binary_backward(f, second, a, b, y, dy, d);
}

void compare(Comparison f, const StridedView& a, const StridedView& b, const View& y) {
  const char* const op = "compare";
  is_packed(op, "y", y);
  require(y.dtype == DType::boolean, "[", op, "] the result must be bool, got ", y.dtype);
  require(a.dtype != DType::bfloat16, "[", op, "] does not take bfloat16: cast to float32");
  fits_result(op, "a", a, y, a.dtype);
  fits_result(op, "b", b, y, a.dtype);
  Scope scope(op, count(y), bytes(y) + static_cast<double>(a.bytes() + b.bytes()));
  op_table(y.device).compare(f, a, b, y);
}

void select(const StridedView& condition, const StridedView& a, const StridedView& b,
            const View& y) {
  const char* const op = "select";
  is_packed(op, "y", y);
  fits_result(op, "the condition", condition, y, DType::boolean);
  fits_result(op, "a", a, y, y.dtype);
  fits_result(op, "b", b, y, y.dtype);
  Scope scope(op, count(y), 3 * bytes(y));
  op_table(y.device).select(condition, a, b, y);
}

void reduce(Reduction f, const View& x, const View& y, double p) {
  const char* const op = "reduce";
  is_lines(op, "x", x);
  if (takes_int64(f)) {
    same_numbers(op, {DType::int64}, x, {&y});
  } else {
    same_kind(op, x, {&y});
  }
  has_elements(op, "y", y, x.shape[0] * x.shape[2]);
  require(x.shape[1] > 0 || !needs_one(f) || y.elements() == 0, "[", op,
          "] max, min and logsumexp of no numbers have no value (x is ", x.shape, ")");
  Scope scope(op, 2 * count(x), bytes(x, y));
  op_table(x.device).reduce(f, x, y, p);
}

void reduce_backward(Reduction f, const View& x, const View& y, const View& dy,
                     const OutputView& dx, double p) {
  const char* const op = "reduce_backward";
  is_lines(op, "x", x);
  is_lines(op, "dx", dx.view);
  same_shape(op, "x", x, "dx", dx.view);
  same_kind(op, x, {&y, &dy, &dx.view});
  has_elements(op, "y", y, x.shape[0] * x.shape[2]);
  has_elements(op, "dy", dy, x.shape[0] * x.shape[2]);
  Scope scope(op, 4 * count(x), bytes(x, dx.view));
  op_table(x.device).reduce_backward(f, x, y, dy, dx, p);
}

void arg_reduce(bool largest, const View& x, const View& ids) {
  const char* const op = "arg_reduce";
  is_lines(op, "x", x);
  same_numbers(op, {DType::int64}, x, {});
  same_device(op, x, ids);
  require(ids.dtype == DType::int64, "[", op, "] the result must be int64, got ", ids.dtype);
  has_elements(op, "the result", ids, x.shape[0] * x.shape[2]);
  require(x.shape[1] > 0 || ids.elements() == 0, "[", op, "] no numbers have no largest one (x is ",
          x.shape, ")");
  Scope scope(op, count(x), bytes(x, ids));
  op_table(x.device).arg_reduce(largest, x, ids);
}

void take(const View& x, const View& ids, bool along, const View& y, const char* op) {
  check_picks(op, x, ids, along, y);
  Scope scope("take", 0, 2 * bytes(y) + bytes(ids));
  op_table(x.device).take(x, ids, along, y, op);
}

void take_backward(const View& dy, const View& ids, bool along, const View& dx, const char* op) {
  check_picks(op, dx, ids, along, dy);
  same_numbers(op, {DType::int32, DType::int64}, dy, {&dx});
  Scope scope("take_backward", count(dy), 3 * bytes(dy) + bytes(ids));
  op_table(dx.device).take_backward(dy, ids, along, dx, op);
}

void cumsum(const View& x, bool reverse, const OutputView& y) {
  is_lines("cumsum", "x", x);
  is_lines("cumsum", "y", y.view);
  same_shape("cumsum", "x", x, "y", y.view);
  same_numbers("cumsum", {DType::int64}, x, {&y.view});
  Scope scope("cumsum", count(x), bytes(x, y.view));
  op_table(x.device).cumsum(x, reverse, y);
}

void sort(const View& x, bool descending, const View& ids) {
  is_packed("sort", "x", x);
  is_packed("sort", "the result", ids);
  same_numbers("sort", {DType::int64}, x, {});
  same_device("sort", x, ids);
  require(ids.dtype == DType::int64, "[sort] the result must be int64, got ", ids.dtype);
  require(x.shape.rank() == 2 && ids.shape.rank() == 2 && ids.rows() == x.rows() &&
              ids.cols() <= x.cols(),
          "[sort] x (rows, n) has shape ", x.shape, ", but the result (rows, k) has shape ",
          ids.shape);
  Scope scope("sort", 10 * count(x), bytes(x, ids));
  op_table(x.device).sort(x, descending, ids);
}

}  // namespace nine::ops
