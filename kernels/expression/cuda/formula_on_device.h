// Copies the programs of a head's formula to a GPU's memory.
#pragma once

#include "cuda/device.cuh"
#include "kernels/expression/expr_pair.h"

namespace nine::cuda {

/// Returns the score of kind expr for vectors of d numbers. Kernels may use it that this thread
/// launches on the device's stream before the thread asks for this formula with other numbers.
/// Copies programs to the device once for each formula, thread and device, and constants when they
/// change.
scores::ExprPair formula_on(CudaDevice& device, const Score& score, int64_t d);

}  // namespace nine::cuda
