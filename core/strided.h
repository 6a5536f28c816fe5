// Views whose dimensions have any strides: a transposed tensor, every second row, a row repeated
// over a matrix. Only the ops of core/array_ops.h that say so take them; all other ops take Views.
#pragma once

#include <array>
#include <span>

#include "core/tensor.h"

namespace nine {

/// Elements of one tensor in an order that the shape and the strides give: element (i, j, ...) lies
/// i * strides[0] + j * strides[1] + ... elements after `data`. A stride of 0 repeats an element.
struct StridedView {
  void* data = nullptr;
  DType dtype = DType::float32;
  Device device;
  Shape shape;
  std::array<int64_t, Shape::kMaxRank> strides{};

  StridedView() = default;
  StridedView(const View& v);    // NOLINT: a View is a special case
  StridedView(const Tensor& t);  // NOLINT

  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * static_cast<int64_t>(size_of(dtype)); }
  /// Returns the view whose dimension i is dimension order[i] of this one. Error: `order` does not
  /// name each dimension once.
  StridedView permuted(std::span<const int> order) const;
  /// Returns the view of `count` indices of dimension `dim`: begin, begin + step, ... `dim` does
  /// not count from the end; neither `dim` nor the indices are checked.
  StridedView sliced(int dim, int64_t begin, int64_t count, int64_t step = 1) const;
  /// Returns the view in a larger shape by NumPy's rule. Error: a dimension is neither 1 nor that
  /// of `to`.
  StridedView broadcast_to(const Shape& to) const;
};

/// Returns the shape that both shapes can be broadcast to by NumPy's rule. Error: two dimensions
/// differ and neither is 1; the message begins with "[op]".
Shape broadcast_shape(const char* op, const Shape& a, const Shape& b);

/// Describes the loop over the elements of N views of one shape, with as few dimensions as
/// possible. Loop dimension i = 0, ..., rank - 1, the innermost last, has sizes[i] indices. From
/// one index to the next, view v goes on by strides[v][i] elements. Dimensions of size 1 are left
/// out. A dimension is joined with the next one if, in all views, its stride is the size times the
/// stride of the next one.
template <size_t N>
struct Walk {
  int rank = 1;
  std::array<int64_t, Shape::kMaxRank> sizes{};
  std::array<std::array<int64_t, Shape::kMaxRank>, N> strides{};

  explicit Walk(const std::array<const StridedView*, N>& views) {
    const Shape& shape = views[0]->shape;
    rank = 0;
    for (int i = 0; i < shape.rank(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (shape[i] == 1) continue;
      bool joined = rank > 0;
      for (size_t v = 0; v < N; ++v)
        joined =
            joined && strides[v][static_cast<size_t>(rank - 1)] == views[v]->strides[at] * shape[i];
      if (!joined) ++rank;
      const auto last = static_cast<size_t>(rank - 1);
      sizes[last] = joined ? sizes[last] * shape[i] : shape[i];
      for (size_t v = 0; v < N; ++v) strides[v][last] = views[v]->strides[at];
    }
    if (rank == 0) {
      rank = 1;
      sizes[0] = 1;
    }
  }
  /// Returns the product of all sizes but the innermost.
  int64_t rows() const {
    int64_t n = 1;
    for (int i = 0; i + 1 < rank; ++i) n *= sizes[static_cast<size_t>(i)];
    return n;
  }
  /// Returns the innermost size.
  int64_t cols() const { return sizes[static_cast<size_t>(rank - 1)]; }
};

}  // namespace nine
