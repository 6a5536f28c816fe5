#include "nn/attention_positions.h"

#include "core/error.h"
#include "core/ops.h"

namespace nine {

const Tensor& AttentionPositions::table(DType dtype, Device device) const {
  std::call_once(made_, [&] {
    const Tensor exact({count_, width_}, DType::float64), rounded(exact.shape(), dtype);
    for (int64_t t = 0; t < count_; ++t) fill(t, exact.data<double>() + t * width_);
    ops::copy(exact, rounded);
    table_ = Tensor(exact.shape(), dtype, device);
    ops::copy(rounded, table_);
  });
  require(table_.dtype() == dtype && table_.device() == device,
          "[AttentionPositions] the table is ", table_.dtype(), " on ", table_.device(),
          ": make other positions for ", dtype, " on ", device);
  return table_;
}

Tensor AttentionPositions::rows(int64_t first, int64_t steps, DType dtype, Device device) const {
  require(first >= 0 && first + steps <= count_, "[AttentionPositions] positions ", first, " to ",
          first + steps - 1, " of a model with ", count_, " positions");
  return table(dtype, device).row_range(first, steps);
}

}  // namespace nine
