// Option values that the type of the computation cannot hold.
#pragma once

#include <string>

#include "core/dtype.h"

namespace nine {

/// Returns why x does not fit float32 or float64, as the end of a sentence: "is too small for
/// float32, whose least number above 0 is 1.1754944e-38". Empty if x fits; 0 always fits. Subnormal
/// numbers count as 0, because products of bfloat16 pieces and GPUs treat them as 0.
std::string misfit(double x, DType type);

}  // namespace nine
