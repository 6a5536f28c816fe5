// Layer norm, RMS norm and their gradients on a GPU (part of cuda/ops.cuh): one block of threads
// for each row, or each part of a row.
#include "cuda/ops.cuh"
#include "cuda/reduce.cuh"

namespace nine::cuda {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void layer_norm_kernel(Matrix<T> x, const T* gamma, const T* beta, double eps,
                                  Matrix<T> y, T* mean, T* rstd) {
  double* shared = shared_memory<double>();
  const int64_t r = blockIdx.x, d = x.cols;
  const T* in = x.row(r);
  double sum = 0, squares = 0;
  for (int64_t c = threadIdx.x; c < d; c += kThreads) sum += static_cast<double>(in[c]);
  const double m = block_sum(sum, shared) / static_cast<double>(d);
  for (int64_t c = threadIdx.x; c < d; c += kThreads) {
    const double off = static_cast<double>(in[c]) - m;
    squares += off * off;
  }
  const double s = 1 / sqrt(block_sum(squares, shared) / static_cast<double>(d) + eps);
  const T row_mean = static_cast<T>(m), row_rstd = static_cast<T>(s);
  for (int64_t c = threadIdx.x; c < d; c += kThreads)
    y.at(r, c) = (in[c] - row_mean) * row_rstd * gamma[c] + beta[c];
  if (threadIdx.x != 0) return;
  mean[r] = row_mean;
  rstd[r] = row_rstd;
}

// With x_hat = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean(g) - x_hat mean(g x_hat)).
template <class T>
__global__ void layer_norm_dx_kernel(Matrix<T> x, const T* gamma, const T* mean, const T* rstd,
                                     Matrix<T> dy, Matrix<T> dx, bool add) {
  double* shared = shared_memory<double>();
  const int64_t r = blockIdx.x, d = x.cols;
  const T *in = x.row(r), *dy_row = dy.row(r), m = mean[r], s = rstd[r];
  double g = 0, gx = 0;
  for (int64_t c = threadIdx.x; c < d; c += kThreads) {
    const double term = static_cast<double>(dy_row[c] * gamma[c]);
    g += term;
    gx += term * static_cast<double>((in[c] - m) * s);
  }
  const T a = static_cast<T>(block_sum(g, shared) / static_cast<double>(d)),
          b = static_cast<T>(block_sum(gx, shared) / static_cast<double>(d));
  for (int64_t c = threadIdx.x; c < d; c += kThreads)
    put(add, dx.at(r, c), s * (dy_row[c] * gamma[c] - a - (in[c] - m) * s * b));
}

template <class T>
struct GammaTerm {
  Matrix<T> x, dy;
  const T *mean, *rstd;
  NINE_D double operator()(int64_t r, int64_t c) const {
    return static_cast<double>(dy.at(r, c) * ((x.at(r, c) - mean[r]) * rstd[r]));
  }
};
template <class T>
struct BetaTerm {
  Matrix<T> dy;
  NINE_D double operator()(int64_t r, int64_t c) const { return static_cast<double>(dy.at(r, c)); }
};

template <class T>
__global__ void rms_norm_kernel(Matrix<T> x, const T* gamma, int64_t d, int64_t parts, double eps,
                                Matrix<T> y, T* rstd) {
  double* shared = shared_memory<double>();
  const int64_t r = blockIdx.x / parts, first = blockIdx.x % parts * d;
  const T* in = x.row(r) + first;
  double squares = 0;
  for (int64_t c = threadIdx.x; c < d; c += kThreads)
    squares += static_cast<double>(in[c]) * static_cast<double>(in[c]);
  const T s = static_cast<T>(1 / sqrt(block_sum(squares, shared) / static_cast<double>(d) + eps));
  for (int64_t c = threadIdx.x; c < d; c += kThreads) y.at(r, first + c) = in[c] * s * gamma[c];
  if (threadIdx.x == 0) rstd[blockIdx.x] = s;
}

// With x_hat = x rstd and g = dy gamma: dx = rstd (g - x_hat mean(g x_hat)).
template <class T>
__global__ void rms_norm_dx_kernel(Matrix<T> x, const T* gamma, int64_t d, int64_t parts,
                                   const T* rstd, Matrix<T> dy, Matrix<T> dx, bool add) {
  double* shared = shared_memory<double>();
  const int64_t r = blockIdx.x / parts, first = blockIdx.x % parts * d;
  const T *in = x.row(r) + first, *dy_row = dy.row(r) + first, s = rstd[blockIdx.x];
  double gx = 0;
  for (int64_t c = threadIdx.x; c < d; c += kThreads)
    gx += static_cast<double>(dy_row[c] * gamma[c]) * static_cast<double>(in[c] * s);
  const T b = static_cast<T>(block_sum(gx, shared) / static_cast<double>(d));
  for (int64_t c = threadIdx.x; c < d; c += kThreads)
    put(add, dx.at(r, first + c), s * (dy_row[c] * gamma[c] - in[c] * s * b));
}

template <class T>
struct RmsGammaTerm {
  Matrix<T> x, dy;
  const T* rstd;
  int64_t d, parts;
  NINE_D double operator()(int64_t part, int64_t c) const {
    const int64_t r = part / parts, column = part % parts * d + c;
    return static_cast<double>(dy.at(r, column) * (x.at(r, column) * rstd[part]));
  }
};

dim3 rows_of(const View& v) { return dim3(grid_size(v.rows())); }

}  // namespace

void layer_norm(const View& x, const View& gamma, const View& beta, double eps, const View& y,
                const View& mean, const View& rstd) {
  dispatch_float(x.dtype, "layer_norm", [&]<class T>(T) {
    launch(CudaDevice::of(x), "layer_norm", layer_norm_kernel<T>, rows_of(x), dim3(kThreads),
           block_sum_bytes(kThreads), Matrix<T>(x), static_cast<T*>(gamma.data),
           static_cast<T*>(beta.data), eps, Matrix<T>(y), static_cast<T*>(mean.data),
           static_cast<T*>(rstd.data));
  });
}

void layer_norm_backward(const View& x, const View& gamma, const View& mean, const View& rstd,
                         const View& dy, const OutputView& dx, const OutputView& dgamma,
                         const OutputView& dbeta) {
  dispatch_float(x.dtype, "layer_norm_backward", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(x);
    const char* op = "layer_norm_backward";
    const T *m = static_cast<T*>(mean.data), *s = static_cast<T*>(rstd.data);
    if (dx.view)
      launch(device, op, layer_norm_dx_kernel<T>, rows_of(x), dim3(kThreads),
             block_sum_bytes(kThreads), Matrix<T>(x), static_cast<T*>(gamma.data), m, s,
             Matrix<T>(dy), Matrix<T>(dx.view), dx.add);
    if (dgamma.view)
      sum_columns(device, op, x.rows(), x.cols(), GammaTerm<T>{Matrix<T>(x), Matrix<T>(dy), m, s},
                  static_cast<T*>(dgamma.view.data), dgamma.add);
    if (dbeta.view)
      sum_columns(device, op, x.rows(), x.cols(), BetaTerm<T>{Matrix<T>(dy)},
                  static_cast<T*>(dbeta.view.data), dbeta.add);
  });
}

void rms_norm(const View& x, const View& gamma, double eps, const View& y, const View& rstd) {
  dispatch_float(x.dtype, "rms_norm", [&]<class T>(T) {
    const int64_t d = gamma.elements(), parts = x.cols() / d;
    launch(CudaDevice::of(x), "rms_norm", rms_norm_kernel<T>, blocks_of(x.rows() * parts, 1),
           dim3(kThreads), block_sum_bytes(kThreads), Matrix<T>(x), static_cast<T*>(gamma.data), d,
           parts, eps, Matrix<T>(y), static_cast<T*>(rstd.data));
  });
}

void rms_norm_backward(const View& x, const View& gamma, const View& rstd, const View& dy,
                       const OutputView& dx, const OutputView& dgamma) {
  dispatch_float(x.dtype, "rms_norm_backward", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(x);
    const char* op = "rms_norm_backward";
    const int64_t d = gamma.elements(), parts = x.cols() / d, count = x.rows() * parts;
    const T* s = static_cast<T*>(rstd.data);
    if (dx.view)
      launch(device, op, rms_norm_dx_kernel<T>, blocks_of(count, 1), dim3(kThreads),
             block_sum_bytes(kThreads), Matrix<T>(x), static_cast<T*>(gamma.data), d, parts, s,
             Matrix<T>(dy), Matrix<T>(dx.view), dx.add);
    if (dgamma.view)
      sum_columns(device, op, count, d, RmsGammaTerm<T>{Matrix<T>(x), Matrix<T>(dy), s, d, parts},
                  static_cast<T*>(dgamma.view.data), dgamma.add);
  });
}

}  // namespace nine::cuda
