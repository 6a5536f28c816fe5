// Checks of an op's views before it runs, and counts of its cost, for core/ops.cpp and
// kernels/ops.cpp. A failed check is an Error that begins with "[op]" and states the shapes.
#pragma once

#include <initializer_list>

#include "core/error.h"
#include "core/tensor.h"

namespace nine::ops::checks {

/// Returns the number of elements, to count operations.
inline double count(const View& v) { return static_cast<double>(v.elements()); }

/// Returns the bytes of all views together, to count memory traffic.
template <class... Views>
inline double bytes(const Views&... views) {
  return static_cast<double>((views.bytes() + ...));
}

/// Requires that v is not an empty view. An empty view has the shape of a scalar. Views without
/// elements may have no memory.
inline void is_given(const char* op, const char* what, const View& v) {
  require(v.data != nullptr || v.elements() == 0, "[", op, "] ", what, " is an empty tensor");
}

/// Requires that two views have one shape and that neither is empty. Messages call them `what_a`
/// and `what_b`.
inline void same_shape(const char* op, const char* what_a, const View& a, const char* what_b,
                       const View& b) {
  is_given(op, what_a, a);
  is_given(op, what_b, b);
  require(a.shape == b.shape, "[", op, "] ", what_a, " has shape ", a.shape, " but ", what_b,
          " has shape ", b.shape);
}

/// Requires that `first` is float32 or float64, and that all others have its dtype and device.
/// `first` must not be empty; other empty views are not checked.
inline void same_kind(const char* op, const View& first,
                      std::initializer_list<const View*> others) {
  is_given(op, "the first tensor", first);
  require(first.dtype == DType::float32 || first.dtype == DType::float64, "[", op,
          "] needs float32 or float64, got ", first.dtype);
  for (const View* v : others) {
    if (!*v) continue;
    require(v->dtype == first.dtype, "[", op, "] mixes ", first.dtype, " and ", v->dtype);
    require(v->device == first.device, "[", op, "] mixes ", first.device, " and ", v->device);
  }
}

/// Requires that v is n contiguous elements of any shape, and not empty.
inline void has_elements(const char* op, const char* what, const View& v, int64_t n) {
  is_given(op, what, v);
  require(v.elements() == n && v.contiguous(), "[", op, "] ", what, " must be ", n,
          " contiguous elements, got shape ", v.shape);
}

/// Requires that v, as a matrix, is (rows, cols).
inline void is_matrix(const char* op, const char* what, const View& v, int64_t rows, int64_t cols) {
  is_given(op, what, v);
  require(v.rows() == rows && v.cols() == cols, "[", op, "] ", what, " must be (", rows, ", ", cols,
          "), got ", v.shape);
}

/// Requires that two views are on one device.
inline void same_device(const char* op, const View& a, const View& b) {
  require(a.device == b.device, "[", op, "] mixes ", a.device, " and ", b.device);
}

/// Requires that ids are n int32 indices on data's device.
inline void are_indices(const char* op, const View& data, const View& ids, int64_t n) {
  require(ids.dtype == DType::int32, "[", op, "] indices must be int32, got ", ids.dtype);
  same_device(op, data, ids);
  has_elements(op, "the index tensor", ids, n);
}

/// Requires that v is one float64 number on data's device, and not empty.
inline void is_double_scalar(const char* op, const View& data, const char* what, const View& v) {
  is_given(op, what, v);
  same_device(op, data, v);
  require(v.dtype == DType::float64 && v.elements() == 1, "[", op, "] ", what,
          " must be a float64 scalar, got ", v.dtype, " ", v.shape);
}

}  // namespace nine::ops::checks
