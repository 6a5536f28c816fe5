#include "nn/sinusoidal_positions.h"

#include <cmath>

#include "core/ops.h"

namespace nine {

Tensor sinusoidal_positions(int64_t count, int64_t width, DType dtype, Device device) {
  const int64_t half = width / 2;
  const Tensor exact({count, width}, DType::float64), rounded(exact.shape(), dtype);
  for (int64_t t = 0; t < count; ++t)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) *
                           std::pow(1e4, -static_cast<double>(i) / static_cast<double>(half));
      double* row = exact.data<double>() + t * width;
      row[i] = std::sin(angle);
      row[half + i] = std::cos(angle);
    }
  ops::copy(exact, rounded);
  Tensor positions(exact.shape(), dtype, device);
  ops::copy(rounded, positions);
  return positions;
}

}  // namespace nine
