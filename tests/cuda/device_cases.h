// Rows of the op table on a device: forward, gradients and in-place results as doubles on the CPU.
#pragma once

#include <vector>

#include "checks/op_cases.h"
#include "checks/raw_op_cases.h"

namespace nine::tests {

inline constexpr Device kGpu{DeviceKind::cuda, 0};

/// A copy on the device; with `gap` a matrix is a window on one that is `gap` columns wider and
/// full of NaN.
Tensor to_device(const Tensor& tensor, Device device, int64_t gap = 0);

/// A step's pool on the device, both ends full of NaN.
Arena& poisoned_pool(Device device, size_t bytes = size_t{64} << 20);

struct Run {
  checks::Doubles value;
  std::vector<checks::Doubles> gradients;
};
/// Forward and backward of a row; gradients start as NaN and have to be overwritten.
Run run_case(const checks::OpCase& c, DType dtype, Device device, uint64_t seed, int64_t gap = 0);
std::vector<checks::Doubles> run_raw_op(const checks::RawOpCase& c, DType dtype, Device device,
                                        uint64_t seed, int64_t gap = 0);

}  // namespace nine::tests
