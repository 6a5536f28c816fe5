// Tensors and parameters of uniform numbers.
#pragma once

#include "autograd/tape.h"
#include "checks/values.h"

namespace nine::tests {

/// Numbers in [low, high).
inline Tensor random_tensor(const Shape& shape, uint64_t seed, DType dtype = DType::float64,
                            double low = -1, double high = 1) {
  return checks::tensor_of(checks::random_values({{shape, low, high}}, seed)[0], shape, dtype);
}

/// Of numbers in [-1, 1), named after its seed, with a gradient of zeros.
inline Parameter random_parameter(const Shape& shape, uint64_t seed, DType dtype = DType::float64) {
  return {concat("p", seed), random_tensor(shape, seed, dtype), Tensor(shape, dtype)};
}

}  // namespace nine::tests
