// Random inputs of the op cases, and their values as tensors.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace nine::checks {

using Doubles = std::vector<double>;
using Ints = std::vector<int32_t>;

/// A random float tensor: uniform in [low, high), rounded to float32 so that float32 and float64
/// runs have the same inputs.
struct Input {
  Shape shape;
  double low = -1, high = 1;
  bool always_double = false;  ///< float64 in a float32 run too (norms, losses)
  bool nan = false;            ///< filled with NaN: an output whose elements must all be written
};

/// A random int32 tensor: uniform in [low, high).
struct Indices {
  Shape shape;
  int32_t low = 0, high = 1;
};

/// Returns the values of each input in row-major order. They depend on the seed and the place in
/// the list.
std::vector<Doubles> random_values(const std::vector<Input>& inputs, uint64_t seed);
/// Returns the values of the indices, likewise.
std::vector<Ints> random_indices(const std::vector<Indices>& indices, uint64_t seed);

/// Returns the values as a tensor. With extra_columns > 0, a matrix is a view of columns of a
/// matrix that is `extra_columns` columns wider and whose other elements are NaN.
Tensor tensor_of(const Doubles& values, const Shape& shape, DType dtype, int64_t extra_columns = 0);
/// Returns the values as an int32 tensor.
Tensor tensor_of(const Ints& values, const Shape& shape);

/// Casts an index for the standard library's containers.
inline size_t index_of(int64_t i) { return static_cast<size_t>(i); }

}  // namespace nine::checks
