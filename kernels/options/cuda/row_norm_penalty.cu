// The penalty sum_r (|x_r| - norm)^2 over rows and its gradient with CUDA. Forward: one warp per
// row. Backward: one block of threads per row.
#include "cuda/reduce.cuh"
#include "kernels/cuda/ops.cuh"
#include "kernels/scores/cuda/warp_vectors.cuh"

namespace nine::cuda {
namespace {

constexpr int kThreads = 128;

template <class T>
struct SquaredDifference {
  Matrix<T> x;
  double norm;
  NINE_D double operator()(int64_t r) const {
    const InWarp<T>* row = in_warp(x.row(r));
    const double difference = sqrt(scores::dot(row, row, x.cols)) - norm;
    return difference * difference;
  }
};
template <class T>
__global__ void row_norm_penalty_backward_kernel(Matrix<T> x, double norm, double factor,
                                                 const double* grad_output, Matrix<T> dx,
                                                 bool add) {
  double* shared = shared_memory<double>();
  const int64_t r = blockIdx.x;
  double square = 0;
  for (int64_t c = threadIdx.x; c < x.cols; c += kThreads)
    square += static_cast<double>(x.at(r, c)) * static_cast<double>(x.at(r, c));
  const double size = sqrt(block_sum(square, shared)), weight = 2 * factor * *grad_output;
  const T g = static_cast<T>(size > 0 ? weight * (size - norm) / size : 0);
  for (int64_t c = threadIdx.x; c < x.cols; c += kThreads) put(add, dx.at(r, c), g * x.at(r, c));
}

}  // namespace

void row_norm_penalty(const View& x, double norm, const OutputView& out) {
  dispatch_float(x.dtype, "row_norm_penalty", [&]<class T>(T) {
    sum_of_vectors(CudaDevice::of(x), "row_norm_penalty", x.rows(),
                   SquaredDifference<T>{Matrix<T>(x), norm},
                   PutSum<double>{static_cast<double*>(out.view.data), out.add});
  });
}

void row_norm_penalty_backward(const View& x, double norm, double factor, const View& grad_output,
                               const OutputView& dx) {
  dispatch_float(x.dtype, "row_norm_penalty_backward", [&]<class T>(T) {
    launch(CudaDevice::of(x), "row_norm_penalty_backward", row_norm_penalty_backward_kernel<T>,
           dim3(grid_size(x.rows())), dim3(kThreads), block_sum_bytes(kThreads), Matrix<T>(x), norm,
           factor, static_cast<double*>(grad_output.data), Matrix<T>(dx.view), dx.add);
  });
}

}  // namespace nine::cuda
