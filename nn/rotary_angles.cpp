#include "nn/rotary_angles.h"

#include <cmath>

#include "core/error.h"
#include "core/ops.h"

namespace nine {

RotaryAngles::RotaryAngles(int64_t count, int64_t size, double base)
    : count_(count), size_(size), base_(base) {
  require(size > 0 && size % 2 == 0, "heads of ", size,
          " numbers: rotary positions rotate pairs, so the size of a head must be even; change the "
          "hidden size or the number of attention heads");
  require(base > 0 && std::isfinite(base), "the rotary base is ", base, ", but must be above 0");
}

const Tensor& RotaryAngles::table(DType dtype, Device device) const {
  std::call_once(made_, [&] {
    const int64_t half = size_ / 2;
    const Tensor exact({count_, size_}, DType::float64), rounded(exact.shape(), dtype);
    for (int64_t t = 0; t < count_; ++t)
      for (int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(t) *
                             std::pow(base_, -static_cast<double>(i) / static_cast<double>(half));
        double* row = exact.data<double>() + t * size_;
        row[i] = std::cos(angle);
        row[half + i] = std::sin(angle);
      }
    ops::copy(exact, rounded);
    table_ = Tensor(exact.shape(), dtype, device);
    ops::copy(rounded, table_);
  });
  return table_;
}

Tensor RotaryAngles::rows(int64_t first, int64_t steps, DType dtype, Device device) const {
  require(first >= 0 && first + steps <= count_, "[RotaryAngles] positions ", first, " to ",
          first + steps - 1, " of a model with ", count_, " positions");
  return table(dtype, device).row_range(first, steps);
}

}  // namespace nine
