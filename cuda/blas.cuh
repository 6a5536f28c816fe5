// The one door to cuBLAS: products of row-major matrices on a card's stream.
#pragma once

#include <string>

#include "core/gemm.h"
#include "cuda/cuda.h"
#include "cuda/device.cuh"

namespace nine::cuda {

/// T is float or double. With k = 0 the product is 0.
template <class T>
void multiply(CudaDevice& card, const char* op, const Gemm<T>& p);

/// What float32 products are computed in, from the next one on.
Precision precision();
/// "cuBLAS 13.1.0", or an Error that says how to get it.
std::string blas_description();

}  // namespace nine::cuda
