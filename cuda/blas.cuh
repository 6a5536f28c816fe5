// Products of row-major matrices by cuBLAS. All uses of cuBLAS go through this file.
#pragma once

#include <cstdint>
#include <string>

#include "core/gemm.h"
#include "cuda/cuda.h"
#include "cuda/device.cuh"

namespace nine::cuda {

/// Submits the product (see Gemm) to the device's stream. `op` is named in errors. T is float or
/// double; with k = 0 the product is 0.
template <class T>
void multiply(CudaDevice& device, const char* op, const Gemm<T>& p);

/// A product of bfloat16 factors, each the upper half of a float32 (cuda/bf16.cuh), otherwise as
/// Gemm. The result and all sums are float32.
struct Bf16Gemm {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const uint16_t* a = nullptr;
  int64_t lda = 0;
  const uint16_t* b = nullptr;
  int64_t ldb = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  bool add = false;
};
/// Submits this product, in every --matmul-precision.
void multiply_bf16(CudaDevice& device, const char* op, const Bf16Gemm& p);

/// "cuBLAS 13.1.0". Error: the library cannot be opened.
std::string blas_description(CudaDevice& device);

}  // namespace nine::cuda
