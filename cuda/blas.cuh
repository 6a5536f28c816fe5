// Products of row-major matrices by cuBLAS. All uses of cuBLAS go through this file.
#pragma once

#include <string>

#include "core/matmul_precision.h"
#include "core/tensor.h"
#include "cuda/cuda.h"
#include "cuda/device.cuh"

namespace nine::cuda {

/// Submits c = alpha op(a) op(b) or, with c.add, c += alpha op(a) op(b), to the device's stream.
/// op(x) is the matrix x or, with transpose_x, its transpose; the shapes must fit. Without terms
/// the product is 0. The factors are both float64, with a result and sums in float64; or both
/// float32 or both bfloat16, with a result and sums in float32. `precision` is that of float32
/// factors. `op` is named in errors.
void multiply(CudaDevice& device, const char* op, const View& a, bool transpose_a, const View& b,
              bool transpose_b, const OutputView& c, double alpha = 1,
              MatmulPrecision precision = matmul_precision());

/// "cuBLAS 13.1.0". Error: the library cannot be opened.
std::string blas_description(CudaDevice& device);

}  // namespace nine::cuda
