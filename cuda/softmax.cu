// Log-softmax and negative log-likelihood on a GPU (part of cuda/ops.cuh); log-softmax has a block
// for each row.
#include "core/log_sum_exp.h"
#include "cuda/ops.cuh"
#include "cuda/reduce.cuh"

namespace nine::cuda {
namespace {

template <class T>
__global__ void log_softmax_kernel(Matrix<T> x, Matrix<T> y) {
  double* shared = shared_memory<double>();
  const T* in = x.row(blockIdx.x);
  RunningLogSumExp<T, double> all;
  for (int64_t c = threadIdx.x; c < x.cols; c += kBlock) all.cover(in[c]);
  all.top = block_max(all.top, shared);
  for (int64_t c = threadIdx.x; c < x.cols; c += kBlock) all.add_covered(in[c]);
  // (x - top) - log_sum rather than x - (top + log_sum), as on the CPU (core/cpu/layers.cpp).
  const T log_sum = static_cast<T>(log(block_sum(all.sum, shared)));
  for (int64_t c = threadIdx.x; c < x.cols; c += kBlock)
    y.at(blockIdx.x, c) = (in[c] - all.top) - log_sum;
}

template <class T>
__global__ void log_softmax_backward_kernel(Matrix<T> y, Matrix<T> dy, Matrix<T> dx, bool add) {
  double* shared = shared_memory<double>();
  const T *value = y.row(blockIdx.x), *dy_row = dy.row(blockIdx.x);
  double sum = 0;
  for (int64_t c = threadIdx.x; c < y.cols; c += kBlock) sum += static_cast<double>(dy_row[c]);
  const T s = static_cast<T>(block_sum(sum, shared));
  for (int64_t c = threadIdx.x; c < y.cols; c += kBlock)
    put(add, dx.at(blockIdx.x, c), dy_row[c] - vexp(value[c]) * s);
}

template <class T>
struct Nll {
  Matrix<T> log_probs;
  const int32_t* targets;
  IndexErrors errors;
  NINE_D double operator()(int64_t r) const {
    const int32_t y = checked(targets, r, -1, log_probs.cols, errors);
    return y >= 0 ? -static_cast<double>(log_probs.at(r, y)) : 0.0;
  }
};
template <class T>
struct NllBackward {
  Matrix<T> d;
  const int32_t* targets;
  double row_weight;
  const double* grad_output;
  IndexErrors errors;
  NINE_D void operator()(int64_t, int64_t r) const {
    const int32_t y = checked(targets, r, -1, d.cols, errors);
    if (y >= 0) d.at(r, y) -= static_cast<T>(row_weight * *grad_output);
  }
};

}  // namespace

void log_softmax(const View& x, const View& y) {
  dispatch_float(x.dtype, "log_softmax", [&]<class T>(T) {
    launch(CudaDevice::of(x), "log_softmax", log_softmax_kernel<T>, dim3(grid_size(x.rows())),
           dim3(kBlock), block_sum_bytes(kBlock), Matrix<T>(x), Matrix<T>(y));
  });
}

void log_softmax_backward(const View& y, const View& dy, const OutputView& dx) {
  dispatch_float(y.dtype, "log_softmax_backward", [&]<class T>(T) {
    launch(CudaDevice::of(y), "log_softmax_backward", log_softmax_backward_kernel<T>,
           dim3(grid_size(y.rows())), dim3(kBlock), block_sum_bytes(kBlock), Matrix<T>(y),
           Matrix<T>(dy), Matrix<T>(dx.view), dx.add);
  });
}

void nll(const View& log_probs, const View& targets, double row_weight, const OutputView& loss) {
  dispatch_float(log_probs.dtype, "nll", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(log_probs);
    sum_of(device, "nll", log_probs.rows(),
           Nll<T>{Matrix<T>(log_probs), static_cast<int32_t*>(targets.data),
                  device.index_errors("nll")},
           PutSum<double>{static_cast<double*>(loss.view.data), loss.add, row_weight});
  });
}

void nll_backward(const View& targets, double row_weight, const View& grad_output,
                  const View& dlog_probs) {
  dispatch_float(dlog_probs.dtype, "nll_backward", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(dlog_probs);
    each(device, "nll_backward", {1, dlog_probs.rows()},
         NllBackward<T>{Matrix<T>(dlog_probs), static_cast<int32_t*>(targets.data), row_weight,
                        static_cast<double*>(grad_output.data),
                        device.index_errors("nll_backward")});
  });
}

}  // namespace nine::cuda
