// Sets norms of word vectors and contexts (docs/margins.md) and computes their gradients, with
// CUDA. A warp sums over a row.
#include "cuda/reduce.cuh"
#include "kernels/cuda/ops.cuh"
#include "kernels/scores/cuda/warp_vectors.cuh"

namespace nine::cuda {
namespace {

double* doubles(const View& v) { return static_cast<double*>(v.data); }

template <class T>
struct RowNorms {
  Matrix<T> x;
  double* norms;
  NINE_D void operator()(int64_t r) const {
    const double norm = scores::norm(in_warp(x.row(r)), x.cols);
    if (lane_of_warp() == 0) norms[r] = norm;
  }
};

// A norm and its row; row < 0: none.
struct NormOfRow {
  double norm = 0;
  int64_t row = -1;
  // Keeps the larger norm and, of equal ones, that of the first row. A NaN is larger than all.
  NINE_D void take(const NormOfRow& x) {
    if (x.row < 0) return;
    const bool nan = norm != norm, other_nan = x.norm != x.norm;
    const bool equal = norm == x.norm || (nan && other_nan);
    if (row < 0 || (equal ? x.row < row : other_nan || x.norm > norm)) *this = x;
  }
};

// One block: each thread takes every kBlock-th row.
__global__ void __launch_bounds__(kBlock)
    largest_norm_kernel(const double* __restrict__ norms, const int32_t* __restrict__ targets,
                        int64_t rows, double* largest, int32_t* row) {
  NormOfRow* of_threads = shared_memory<NormOfRow>();  // [kBlock]
  int counts = 0;
  for (int64_t r = threadIdx.x; r < rows; r += kBlock) counts |= targets[r] >= 0 ? 1 : 0;
  const bool all = __syncthreads_or(counts) == 0;  // no row has a target
  NormOfRow own;
#pragma unroll 4
  for (int64_t r = threadIdx.x; r < rows; r += kBlock)
    if (all || targets[r] >= 0) own.take({norms[r], r});
  of_threads[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kBlock; ++i) own.take(of_threads[i]);
  *largest = own.norm;
  *row = static_cast<int32_t>(own.row);
}

struct UpdateRunning {
  const double* largest;
  double decay;
  double* running;
  NINE_D void operator()(int64_t, int64_t) const {
    const double now = *largest, so_far = *running;
    *running = decay == 0    ? (now > so_far ? now : so_far)
               : so_far == 0 ? now
                             : decay * so_far + (1 - decay) * now;
  }
};

struct RunningNorm {
  const double* running;
  double* size;
  NINE_D void operator()(int64_t, int64_t) const { *size = *running > 0 ? *running : 1; }
};

template <class T>
struct SetNorms {
  Matrix<T> x, y;
  const double *norms, *size;
  NINE_D void operator()(int64_t r, int64_t c) const {
    y.at(r, c) = scores::scaled(norms[r] > 0 ? *size / norms[r] : 0.0, x.at(r, c));
  }
};

template <class T>
struct SetNormsBackward {
  Matrix<T> x, dy, dx;
  const double *norms, *size;
  double* dsize;
  NINE_D void operator()(int64_t r) const {
    const double by_norm = norms[r] > 0 ? 1 / norms[r] : 0, to = *size;
    const T *from = x.row(r), *up = dy.row(r);
    const double along = scores::sum_of<InWarp<T>>(x.cols, [&](int64_t k) {
      return static_cast<double>(from[k]) * by_norm * static_cast<double>(up[k]);
    });
    if (lane_of_warp() == 0) dsize[r] = along;
    T* out = dx.row(r);
    scores::Visit<InWarp<T>>::each(x.cols, [&](int64_t k) {
      out[k] = static_cast<T>(
          to * by_norm *
          (static_cast<double>(up[k]) - along * by_norm * static_cast<double>(from[k])));
    });
  }
};

struct WordScales {
  const double *norms, *ratios;
  int64_t first;
  double* stats;
  NINE_D void operator()(int64_t, int64_t v) const {
    const double scale = ratios[v] * (first >= 0 ? norms[first] : 1.0);
    stats[2 * v] = norms[v] > 0 ? scale / norms[v] : 0;
    stats[2 * v + 1] = scale;
  }
};

template <class T>
struct WordScalesBackward {
  Matrix<T> w, dw;
  const double *norms, *stats, *dstats;
  NINE_D void operator()(int64_t v, int64_t k) const {
    const double norm = norms[v];
    if (!(norm > 0)) return;
    const T g = static_cast<T>(-dstats[2 * v] * stats[2 * v] / norm / norm);
    dw.at(v, k) += g * w.at(v, k);
  }
};
struct ByFirstNorm {
  const double *norms, *ratios, *dstats;
  NINE_D double operator()(int64_t v) const {
    return (dstats[2 * v + 1] + (norms[v] > 0 ? dstats[2 * v] / norms[v] : 0.0)) * ratios[v];
  }
};
// Receives the sum from sum_of.
template <class T>
struct AddToFirst {
  const T* w;
  T* dw;
  int64_t d;
  const double* norm;
  NINE_D void operator()(double sum) const {
    if (!(*norm > 0)) return;
    for (int64_t k = 0; k < d; ++k)
      dw[k] += static_cast<T>(sum / *norm * static_cast<double>(w[k]));
  }
};

}  // namespace

void row_norms(const View& x, const View& norms) {
  dispatch_float(x.dtype, "row_norms", [&]<class T>(T) {
    each_vector(CudaDevice::of(x), "row_norms", x.rows(),
                RowNorms<T>{Matrix<T>(x), doubles(norms)});
  });
}

void largest_norm(const View& norms, const View& targets, const View& largest, const View& row) {
  launch(CudaDevice::of(norms), "largest_norm", largest_norm_kernel, dim3(1), dim3(kBlock),
         kBlock * sizeof(NormOfRow), doubles(norms), static_cast<int32_t*>(targets.data),
         norms.elements(), doubles(largest), static_cast<int32_t*>(row.data));
}

void update_running_norm(const View& largest, double decay, const View& running) {
  each(CudaDevice::of(largest), "update_running_norm", {1, 1},
       UpdateRunning{doubles(largest), decay, doubles(running)});
}

void running_norm(const View& running, const View& size) {
  each(CudaDevice::of(running), "running_norm", {1, 1},
       RunningNorm{doubles(running), doubles(size)});
}

void set_norms(const View& x, const View& norms, const View& size, const View& y) {
  dispatch_float(x.dtype, "set_norms", [&]<class T>(T) {
    each(CudaDevice::of(x), "set_norms", {x.rows(), x.cols()},
         SetNorms<T>{Matrix<T>(x), Matrix<T>(y), doubles(norms), doubles(size)});
  });
}

void set_norms_backward(const View& x, const View& norms, const View& size, const View& dy,
                        const View& dx, const View& dsize) {
  dispatch_float(x.dtype, "set_norms_backward", [&]<class T>(T) {
    each_vector(CudaDevice::of(x), "set_norms_backward", x.rows(),
                SetNormsBackward<T>{Matrix<T>(x), Matrix<T>(dy), Matrix<T>(dx), doubles(norms),
                                    doubles(size), doubles(dsize)});
  });
}

void word_scales(const View& norms, const View& ratios, int64_t first, const View& stats) {
  each(CudaDevice::of(norms), "word_scales", {1, norms.elements()},
       WordScales{doubles(norms), doubles(ratios), first, doubles(stats)});
}

void word_scales_backward(const View& w, const View& norms, const View& ratios, int64_t first,
                          const View& stats, const View& dstats, const View& dw) {
  dispatch_float(w.dtype, "word_scales_backward", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(w);
    const Matrix<T> values(w), gradients(dw);
    each(device, "word_scales_backward", {w.rows(), w.cols()},
         WordScalesBackward<T>{values, gradients, doubles(norms), doubles(stats), doubles(dstats)});
    if (first >= 0)
      sum_of(device, "word_scales_backward", w.rows(),
             ByFirstNorm{doubles(norms), doubles(ratios), doubles(dstats)},
             AddToFirst<T>{values.data + first * values.ld, gradients.data + first * gradients.ld,
                           w.cols(), doubles(norms) + first});
  });
}

}  // namespace nine::cuda
