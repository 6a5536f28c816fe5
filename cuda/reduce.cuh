// Sums whose order depends on shapes only: partial sums over a fixed division of the elements,
// which one block then adds.
#pragma once

#include "cuda/launch.cuh"

namespace nine::cuda {

inline constexpr int64_t kMinPartialElements = 8 * kBlock;  ///< fewest elements of a partial sum
inline constexpr int64_t kMaxPartials = 1024;               ///< most partial sums

/// partial[block] = the sum in double of f(i) over the elements of the block: every gridDim-th run
/// of blockDim elements.
template <class F>
__global__ void partial_sums_kernel(int64_t n, F f, double* partial) {
  double sum = 0;
  for (int64_t i = thread_index(); i < n; i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    sum += f(i);
  sum = block_sum(sum, shared_memory<double>());
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// One block: calls put_sum(sum of partial[0 ... n)).
template <class Put>
__global__ void finish_sum_kernel(const double* partial, int64_t n, Put put_sum) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += partial[i];
  sum = block_sum(sum, shared_memory<double>());
  if (threadIdx.x == 0) put_sum(sum);
}

/// Calls put_sum(f(0) + ... + f(n - 1)) on the device, with the sum in double; both are functors
/// that are copied there.
template <class F, class Put>
void sum_of(CudaDevice& device, const char* op, int64_t n, const F& f, const Put& put_sum) {
  const int64_t partials =
      std::clamp<int64_t>((n + kMinPartialElements - 1) / kMinPartialElements, 1, kMaxPartials);
  double* partial = device.scratch<double>(partials);
  launch(device, op, partial_sums_kernel<F>, dim3(static_cast<unsigned>(partials)), dim3(kBlock),
         block_sum_bytes(kBlock), n, f, partial);
  launch(device, op, finish_sum_kernel<Put>, dim3(1), dim3(kBlock), block_sum_bytes(kBlock),
         partial, partials, put_sum);
}

/// For sum_of: y = scale * sum or, with `add`, y += scale * sum; y is float or double.
template <class T>
struct PutSum {
  T* y;
  bool add;
  double scale = 1;
  NINE_D void operator()(double sum) const { put(add, *y, static_cast<T>(scale * sum)); }
};

/// partial[split][c] = the sum in double of f(r, c) over the rows of a split. Block (32, 8).
template <class F>
__global__ void column_sums_kernel(int64_t rows, int64_t cols, int64_t per_split, F f,
                                   double* partial) {
  double* shared = shared_memory<double>();  // [8][32]
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const int64_t first = blockIdx.y * per_split,
                end = first + per_split < rows ? first + per_split : rows;
  double sum = 0;
  if (c < cols)
    for (int64_t r = first + threadIdx.y; r < end; r += blockDim.y) sum += f(r, c);
  shared[threadIdx.y * kWarp + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= cols) return;
  for (unsigned i = 1; i < blockDim.y; ++i) sum += shared[i * kWarp + threadIdx.x];
  partial[blockIdx.y * cols + c] = sum;
}
/// y[c] = the sum of partial[0 ... splits)[c], or added to y.
template <class T>
struct FinishColumns {
  const double* partial;
  int64_t splits, cols;
  T* y;
  bool add;
  NINE_D void operator()(int64_t, int64_t c) const {
    double sum = 0;
    for (int64_t i = 0; i < splits; ++i) sum += partial[i * cols + c];
    put(add, y[c], static_cast<T>(sum));
  }
};

/// y[c] = the sum over rows of f(r, c) in double or, with `add`, added to y.
template <class T, class F>
void sum_columns(CudaDevice& device, const char* op, int64_t rows, int64_t cols, const F& f, T* y,
                 bool add) {
  constexpr int64_t kRows = 256, kMaxSplits = 64;
  const int64_t splits = std::clamp<int64_t>((rows + kRows - 1) / kRows, 1, kMaxSplits),
                per_split = (rows + splits - 1) / splits;
  double* partial = device.scratch<double>(splits * std::max<int64_t>(1, cols));
  launch(device, op, column_sums_kernel<F>,
         dim3(blocks_of(cols, kWarp), static_cast<unsigned>(splits)), dim3(kWarp, 8),
         kWarp * 8 * sizeof(double), rows, cols, per_split, f, partial);
  each(device, op, {1, cols}, FinishColumns<T>{partial, splits, cols, y, add});
}

}  // namespace nine::cuda
