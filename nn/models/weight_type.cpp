#include "nn/models/weight_type.h"

#include <cmath>

#include "core/dtype.h"
#include "core/error.h"
#include "core/half.h"
#include "core/ops.h"

namespace nine {

Tensor in_float32(const Tensor& tensor) {
  if (tensor.dtype() == DType::float32) return tensor;
  Tensor out(tensor.shape(), DType::float32);
  ops::copy(tensor, out);
  return out;
}

uint16_t checked_half(const std::string& tensor, float x) {
  const uint16_t half = half_of_float(x);
  if (std::isfinite(x) && !std::isfinite(float_of_half(half)))
    fail("tensor '", tensor, "' has ", x, ", and float16 ends at 65504: choose another type");
  return half;
}

uint16_t checked_bfloat16(const std::string& tensor, float x) {
  const bfloat16 out(x);
  if (std::isfinite(x) && !std::isfinite(static_cast<float>(out)))
    fail("tensor '", tensor, "' has ", x, ", and bfloat16 ends at 3.39e38: choose another type");
  return out.bits;
}

}  // namespace nine
