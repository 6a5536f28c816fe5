// Normalisation by channels on a GPU (part of cuda/ops.cuh): one block of threads for each set.
#include "cuda/ops.cuh"
#include "cuda/reduce.cuh"

namespace nine::cuda {
namespace {

constexpr int kThreads = 256;

// The shape of a ChannelNorm, and the elements of its sets. groups = 0: a channel is a set.
struct Sets {
  int64_t examples, channels, plane, groups;

  explicit Sets(const ops::ChannelNorm& io)
      : examples(io.examples()), channels(io.channels()), plane(io.plane()), groups(io.groups) {}
  // Of one set.
  NINE_HD int64_t elements() const {
    return groups == 0 ? examples * plane : channels / groups * plane;
  }
  // Returns the place in x of element e of set s.
  NINE_HD int64_t place(int64_t s, int64_t e) const {
    return groups == 0 ? (e / plane * channels + s) * plane + e % plane : s * elements() + e;
  }
  NINE_HD int64_t channel(int64_t place) const { return place / plane % channels; }
  NINE_HD int64_t set_of(int64_t place) const {
    return groups == 0 ? channel(place) : place / elements();
  }
};

template <class T>
__global__ void channel_stats_kernel(Sets sets, const T* x, double* mean, double* variance) {
  double* shared = shared_memory<double>();
  const int64_t s = blockIdx.x, n = sets.elements();
  double sum = 0, squares = 0;
  for (int64_t e = threadIdx.x; e < n; e += kThreads)
    sum += static_cast<double>(x[sets.place(s, e)]);
  const double m = block_sum(sum, shared) / static_cast<double>(n);
  for (int64_t e = threadIdx.x; e < n; e += kThreads) {
    const double off = static_cast<double>(x[sets.place(s, e)]) - m;
    squares += off * off;
  }
  const double v = block_sum(squares, shared) / static_cast<double>(n);
  if (threadIdx.x != 0) return;
  mean[s] = m;
  variance[s] = v;
}

template <class T>
struct Normalise {
  Sets sets;
  const T *x, *gamma, *beta;
  const double *mean, *variance;
  double eps;
  T* y;
  NINE_D void operator()(int64_t, int64_t i) const {
    const int64_t s = sets.set_of(i), c = sets.channel(i);
    const T m = static_cast<T>(mean[s]),
            factor = static_cast<T>(static_cast<double>(gamma[c]) / sqrt(variance[s] + eps));
    y[i] = (x[i] - m) * factor + beta[c];
  }
};

// Sums over a set of g = dy gamma and of g (x - mean) rstd.
template <class T>
__global__ void set_sums_kernel(Sets sets, const T* x, const T* gamma, const T* dy,
                                const double* mean, const double* variance, double eps,
                                double* sums, double* with_x) {
  double* shared = shared_memory<double>();
  const int64_t s = blockIdx.x, n = sets.elements();
  double g = 0, gx = 0;
  for (int64_t e = threadIdx.x; e < n; e += kThreads) {
    const int64_t i = sets.place(s, e);
    const double term = static_cast<double>(dy[i]) * static_cast<double>(gamma[sets.channel(i)]);
    g += term;
    gx += term * (static_cast<double>(x[i]) - mean[s]);
  }
  const double all = block_sum(g, shared), all_x = block_sum(gx, shared);
  if (threadIdx.x != 0) return;
  sums[s] = all;
  with_x[s] = all_x / sqrt(variance[s] + eps);
}

template <class T>
struct NormaliseBackward {
  Sets sets;
  const T *x, *gamma, *dy;
  const double *mean, *variance, *sums, *with_x;
  double eps;
  bool given, add;
  T* dx;
  NINE_D void operator()(int64_t, int64_t i) const {
    const int64_t s = sets.set_of(i);
    const double r = 1 / sqrt(variance[s] + eps), n = static_cast<double>(sets.elements());
    const T a = static_cast<T>(r * static_cast<double>(gamma[sets.channel(i)])),
            b = given ? T(0) : static_cast<T>(-r * r * with_x[s] / n),
            c = given ? T(0) : static_cast<T>(-r * sums[s] / n), m = static_cast<T>(mean[s]);
    put(add, dx[i], a * dy[i] + b * (x[i] - m) + c);
  }
};

// A block for each channel: the gradients of gamma and beta.
template <class T>
__global__ void channel_sums_kernel(Sets sets, const T* x, const T* dy, const double* mean,
                                    const double* variance, double eps, T* dgamma, bool add_gamma,
                                    T* dbeta, bool add_beta) {
  double* shared = shared_memory<double>();
  const int64_t c = blockIdx.x, n = sets.examples * sets.plane;
  double g = 0, gx = 0;
  for (int64_t e = threadIdx.x; e < n; e += kThreads) {
    const int64_t i = (e / sets.plane * sets.channels + c) * sets.plane + e % sets.plane,
                  s = sets.set_of(i);
    const double up = static_cast<double>(dy[i]);
    g += up;
    gx += up * (static_cast<double>(x[i]) - mean[s]) / sqrt(variance[s] + eps);
  }
  const double all = block_sum(g, shared), all_x = block_sum(gx, shared);
  if (threadIdx.x != 0) return;
  if (dbeta != nullptr) put(add_beta, dbeta[c], static_cast<T>(all));
  if (dgamma != nullptr) put(add_gamma, dgamma[c], static_cast<T>(all_x));
}

template <class T>
T* data(const View& v) {
  return static_cast<T*>(v.data);
}

}  // namespace

void channel_norm(const ops::ChannelNorm& io, const View& y) {
  dispatch_float(io.x.dtype, "channel_norm", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(io.x);
    const Sets sets(io);
    if (!io.given)
      launch(device, "channel_norm", channel_stats_kernel<T>, blocks_of(io.sets(), 1),
             dim3(kThreads), block_sum_bytes(kThreads), sets, data<T>(io.x), data<double>(io.mean),
             data<double>(io.variance));
    each(device, "channel_norm", {1, io.x.elements()},
         Normalise<T>{sets, data<T>(io.x), data<T>(io.gamma), data<T>(io.beta),
                      data<double>(io.mean), data<double>(io.variance), io.eps, data<T>(y)});
  });
}

void channel_norm_backward(const ops::ChannelNorm& io, const View& dy, const OutputView& dx,
                           const OutputView& dgamma, const OutputView& dbeta) {
  dispatch_float(io.x.dtype, "channel_norm_backward", [&]<class T>(T) {
    const char* op = "channel_norm_backward";
    CudaDevice& device = CudaDevice::of(io.x);
    const Sets sets(io);
    const double *mean = data<double>(io.mean), *variance = data<double>(io.variance);
    if (dx.view) {
      double *sums = device.scratch<double>(2 * io.sets()), *with_x = sums + io.sets();
      if (!io.given)
        launch(device, op, set_sums_kernel<T>, blocks_of(io.sets(), 1), dim3(kThreads),
               block_sum_bytes(kThreads), sets, data<T>(io.x), data<T>(io.gamma), data<T>(dy), mean,
               variance, io.eps, sums, with_x);
      each(device, op, {1, io.x.elements()},
           NormaliseBackward<T>{sets, data<T>(io.x), data<T>(io.gamma), data<T>(dy), mean, variance,
                                sums, with_x, io.eps, io.given, dx.add, data<T>(dx.view)});
    }
    if (dgamma.view || dbeta.view)
      launch(device, op, channel_sums_kernel<T>, blocks_of(io.channels(), 1), dim3(kThreads),
             block_sum_bytes(kThreads), sets, data<T>(io.x), data<T>(dy), mean, variance, io.eps,
             data<T>(dgamma.view), dgamma.add, data<T>(dbeta.view), dbeta.add);
  });
}

}  // namespace nine::cuda
