#include "nn/rotary_angles.h"

#include <cmath>

#include "autograd/functions.h"
#include "core/error.h"

namespace nine {

RotaryAngles::RotaryAngles(int64_t count, int64_t size, double base, const RotaryScaling& scaling)
    : AttentionPositions(count, size), base_(base), scaling_(scaling) {
  require(size > 0 && size % 2 == 0, "heads of ", size,
          " numbers: rotary positions rotate pairs, so the size of a head must be even; change the "
          "hidden size or the number of attention heads");
  require(base > 0 && std::isfinite(base), "the rotary base is ", base, ", but must be above 0");
}

void RotaryAngles::fill(int64_t position, double* row) const {
  const int64_t half = width() / 2;
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = std::pow(base_, -static_cast<double>(i) / static_cast<double>(half)),
                 angle = static_cast<double>(position) * frequency / scaling_.divisor(frequency);
    row[i] = std::cos(angle);
    row[half + i] = std::sin(angle);
  }
}

Var RotaryAngles::placed(const Var& x, const Tensor& rows, int64_t columns) const {
  return rotary(x, rows, columns);
}

}  // namespace nine
