// Products of row-major matrices by cuBLAS. All uses of cuBLAS go through this file.
#pragma once

#include <string>

#include "core/gemm.h"
#include "cuda/cuda.h"
#include "cuda/device.cuh"

namespace nine::cuda {

/// Submits the product (see Gemm) to the device's stream. `op` is named in errors. T is float or
/// double; with k = 0 the product is 0.
template <class T>
void multiply(CudaDevice& device, const char* op, const Gemm<T>& p);

/// "cuBLAS 13.1.0". Error: the library cannot be opened.
std::string blas_description(CudaDevice& device);

}  // namespace nine::cuda
