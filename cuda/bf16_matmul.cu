#include "cuda/bf16_matmul.h"

#include "cuda/bf16.cuh"
#include "cuda/blas.cuh"

namespace nine::cuda {
namespace {

constexpr int kInFlight = 8;  // loads of a thread before its first store

// A block for each row. The numbers of a chunk are stored below the next chunk: the barrier lets
// all threads load a chunk before one of them stores it.
__global__ void __launch_bounds__(kBlock)
    round_in_place_kernel(float* rows, int64_t cols, int64_t ld) {
  const float* from = rows + blockIdx.x * ld;
  uint16_t* to = reinterpret_cast<uint16_t*>(rows + blockIdx.x * ld);
  for (int64_t first = threadIdx.x; first - threadIdx.x < cols; first += kBlock * kInFlight) {
    float x[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      x[k] = first + k * kBlock < cols ? from[first + k * kBlock] : 0.0F;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (first + k * kBlock < cols) to[first + k * kBlock] = bf16_bits(x[k]);
  }
}

}  // namespace

void matmul_bf16(const char* op, const View& a, bool transpose_a, const View& b, bool transpose_b,
                 const OutputView& c) {
  const int64_t m = transpose_a ? a.cols() : a.rows(), k = transpose_a ? a.rows() : a.cols(),
                n = transpose_b ? b.rows() : b.cols();
  require(
      a.dtype == DType::bfloat16 && b.dtype == DType::bfloat16 && c.view.dtype == DType::float32,
      "[", op, "] a product of bfloat16 with float32 sums, but its matrices are ", a.dtype, ", ",
      b.dtype, " and ", c.view.dtype);
  require(a.device == b.device && a.device == c.view.device && a.device.kind == DeviceKind::cuda,
          "[", op, "] a product on a GPU, but its matrices are on ", a.device, ", ", b.device,
          " and ", c.view.device);
  require((transpose_b ? b.cols() : b.rows()) == k && c.view.rows() == m && c.view.cols() == n, "[",
          op, "] factors of shapes ", a.shape, " and ", b.shape, " do not give ", c.view.shape);
  multiply(CudaDevice::of(a), op, a, transpose_a, b, transpose_b, c);
}

View round_in_place(const char* op, const View& x) {
  require(x.dtype == DType::float32, "[", op, "] rounds float32 to bfloat16, got ", x.dtype);
  launch(CudaDevice::of(x), op, round_in_place_kernel, dim3(x.cols() > 0 ? grid_size(x.rows()) : 0),
         dim3(kBlock), 0, static_cast<float*>(x.data), x.cols(), x.ld);
  View rounded = x;
  rounded.dtype = DType::bfloat16;
  rounded.ld = 2 * x.ld;
  return rounded;
}

}  // namespace nine::cuda
