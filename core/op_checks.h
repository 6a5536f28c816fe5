// What ops check of their views before they run, and what they count: for core/ops.cpp and
// kernels/ops.cpp. A check that fails is an Error that begins with "[op]" and says the shapes.
#pragma once

#include <initializer_list>

#include "core/error.h"
#include "core/tensor.h"

namespace nine::ops::checks {

/// Elements, for counting operations.
inline double count(const View& v) { return static_cast<double>(v.elements()); }

/// Bytes of all views together, for counting memory traffic.
template <class... Views>
inline double bytes(const Views&... views) {
  return static_cast<double>((views.bytes() + ...));
}

/// v is no empty view, whose shape is a scalar's. Views without elements may have no memory.
inline void is_given(const char* op, const char* what, const View& v) {
  require(v.data != nullptr || v.elements() == 0, "[", op, "] ", what, " is an empty tensor");
}

/// Two views have one shape, neither is empty; `what_a` and `what_b` are what messages call them.
inline void same_shape(const char* op, const char* what_a, const View& a, const char* what_b,
                       const View& b) {
  is_given(op, what_a, a);
  is_given(op, what_b, b);
  require(a.shape == b.shape, "[", op, "] ", what_a, " has shape ", a.shape, " but ", what_b,
          " has shape ", b.shape);
}

/// Every further view has the first one's float type and device. Empty ones are not checked, but
/// for the first, which is an Error.
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

/// v is n contiguous elements, of whatever shape, and no empty view.
inline void has_elements(const char* op, const char* what, const View& v, int64_t n) {
  is_given(op, what, v);
  require(v.elements() == n && v.contiguous(), "[", op, "] ", what, " must be ", n,
          " contiguous elements, got shape ", v.shape);
}

/// v, taken as a matrix, is (rows, cols).
inline void is_matrix(const char* op, const char* what, const View& v, int64_t rows, int64_t cols) {
  require(v.rows() == rows && v.cols() == cols, "[", op, "] ", what, " must be (", rows, ", ", cols,
          "), got ", v.shape);
}

/// Two views are on one device.
inline void same_device(const char* op, const View& a, const View& b) {
  require(a.device == b.device, "[", op, "] mixes ", a.device, " and ", b.device);
}

/// ids are n int32 indices on data's device.
inline void are_indices(const char* op, const View& data, const View& ids, int64_t n) {
  require(ids.dtype == DType::int32, "[", op, "] indices must be int32, got ", ids.dtype);
  same_device(op, data, ids);
  has_elements(op, "the index tensor", ids, n);
}

/// v is one float64 number on data's device, and no empty view.
inline void is_double_scalar(const char* op, const View& data, const char* what, const View& v) {
  is_given(op, what, v);
  same_device(op, data, v);
  require(v.dtype == DType::float64 && v.elements() == 1, "[", op, "] ", what,
          " must be a float64 scalar, got ", v.dtype, " ", v.shape);
}

}  // namespace nine::ops::checks
