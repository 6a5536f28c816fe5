#include "nn/models/weight_type.h"

#include <algorithm>
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

void require_digits(const std::string& name, const Tensor& tensor, WeightType type) {
  // float16 has fewer digits below its smallest normal number; a group of q8_0 has a factor of
  // float16, the largest number of the group divided by 127.
  const float least = type == WeightType::float16 ? 0x1p-14F
                      : type == WeightType::q8_0  ? 127 * 0x1p-20F
                                                  : 0;
  if (tensor.shape().rank() < 2 || least == 0) return;
  float largest = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    largest = std::max(largest, std::abs(tensor.data<float>()[i]));
  if (largest > 0 && largest < least)
    fail("tensor '", name, "' has no number beyond ", largest, ", and ", to_text(type),
         " has few digits or none for numbers below ", least, ": choose another type");
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
