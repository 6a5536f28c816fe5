// cuda/blas.cuh without cuBLAS: the CPU's products. tf32 and bf16 round the factors as the GPU
// would.
#include "cuda/blas.cuh"

#include <bit>

#include "core/error.h"
#include "core/gemm.h"
#include "core/matmul_precision.h"
#include "tests/cuda_on_host/memory.h"

namespace nine::cuda {
namespace {

// To the nearest number whose last `bits` bits are 0.
void round_off(std::vector<float>& x, int bits) {
  for (float& v : x) {
    const auto u = std::bit_cast<uint32_t>(v);
    v = std::bit_cast<float>((u + (1u << (bits - 1))) >> bits << bits);
  }
}

template <class T>
std::vector<T> copy_of(const T* p, int64_t rows, int64_t cols, int64_t ld) {
  std::vector<T> x(static_cast<size_t>(rows * cols));
  for (int64_t r = 0; r < rows; ++r) std::copy_n(p + r * ld, cols, x.data() + r * cols);
  if constexpr (std::is_same_v<T, float>)
    if (const MatmulPrecision set = matmul_precision(); set != MatmulPrecision::highest)
      round_off(x, set == MatmulPrecision::high ? 13 : 16);
  return x;
}

}  // namespace

std::string blas_description() { return "the CPU's products"; }

template <class T>
void multiply(CudaDevice&, const char* op, const Gemm<T>& p) {
  if (p.m == 0 || p.n == 0) return;
  for (const void* x : {static_cast<const void*>(p.a), static_cast<const void*>(p.b),
                        static_cast<const void*>(p.c)})
    require(p.k == 0 || cuda_on_host::is_device(x), "[", op,
            "] a product was given an address of the host's memory");
  require(
      p.ldc >= p.n && p.lda >= (p.transpose_a ? p.m : p.k) && p.ldb >= (p.transpose_b ? p.k : p.n),
      "[", op, "] a product's rows overlap");
  cuda_on_host::submit([p] {
    const cuda_on_host::DeviceAccess access;
    const int64_t a_cols = p.transpose_a ? p.m : p.k, b_cols = p.transpose_b ? p.k : p.n;
    const std::vector<T> a = copy_of(p.a, p.transpose_a ? p.k : p.m, a_cols, p.lda),
                         b = copy_of(p.b, p.transpose_b ? p.n : p.k, b_cols, p.ldb);
    Gemm<T> rounded = p;
    rounded.a = a.data();
    rounded.lda = a_cols;
    rounded.b = b.data();
    rounded.ldb = b_cols;
    gemm(rounded);
  });
}

template void multiply<float>(CudaDevice&, const char*, const Gemm<float>&);
template void multiply<double>(CudaDevice&, const char*, const Gemm<double>&);

}  // namespace nine::cuda
