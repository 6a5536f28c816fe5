// The programs of a head's formula in a GPU's memory.
#pragma once

#include "cuda/device.cuh"
#include "kernels/expression/expr_pair.h"

namespace nine::cuda {

/// The score of kind expr for vectors of d numbers, for kernels that are launched on the device's
/// stream by this thread before it asks for this formula with other numbers. Programs are copied to
/// the device once for each formula, thread and device; constants when they have changed.
scores::ExprPair formula_on(CudaDevice& device, const Score& score, int64_t d);

}  // namespace nine::cuda
