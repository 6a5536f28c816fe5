// Numbers of options that the type of the computation cannot hold.
#pragma once

#include <string>

#include "core/dtype.h"

namespace nine {

/// What is wrong with x in arithmetic of float32 or float64, for behind "X ": "is too small for
/// float32, whose least number above 0 is 1.1754944e-38". Empty: nothing is; 0 is a number of each.
/// Subnormal numbers count as 0, since products of bfloat16 pieces and GPUs take them so.
std::string misfit(double x, DType type);

}  // namespace nine
