// Vectors whose numbers the 32 threads of a warp share: lane i has numbers i, i + 32, ... The
// formulas of kernels/scores/ and kernels/options/angle.h run over them without change
// (scores::Visit). Every lane computes the same statistics and scores, from sums that are the same
// in all lanes, and writes its own numbers. Neighbouring lanes read neighbouring numbers.
#pragma once

#include "cuda/reduce.cuh"
#include "kernels/scores/vectors.h"

namespace nine::cuda {

/// A number of a warp's vector.
template <class T>
struct InWarp {
  T value;

  InWarp() = default;
  NINE_HD explicit InWarp(double x) : value(static_cast<T>(x)) {}
  NINE_HD explicit operator double() const { return static_cast<double>(value); }
  NINE_HD InWarp& operator+=(InWarp x) {
    value += x.value;
    return *this;
  }
  NINE_HD InWarp& operator-=(InWarp x) {
    value -= x.value;
    return *this;
  }
};
static_assert(sizeof(InWarp<float>) == sizeof(float) && sizeof(InWarp<double>) == sizeof(double));

/// Returns the numbers at p as those of a warp's vector.
template <class T>
NINE_D const InWarp<T>* in_warp(const T* p) {
  return reinterpret_cast<const InWarp<T>*>(p);
}
template <class T>
NINE_D InWarp<T>* in_warp(T* p) {
  return reinterpret_cast<InWarp<T>*>(p);
}

NINE_D inline int lane_of_warp() { return static_cast<int>(threadIdx.x) % kWarp; }

/// Calls f(v) for v < count with one warp for each vector, in blocks of kBlock threads.
template <class F>
__global__ void each_vector_kernel(int64_t count, F f) {
  const int64_t v = static_cast<int64_t>(blockIdx.x) * (kBlock / kWarp) + threadIdx.x / kWarp;
  if (v < count) f(v);  // the same value in all lanes of a warp
}
template <class F>
void each_vector(CudaDevice& device, const char* op, int64_t count, const F& f) {
  launch(device, op, each_vector_kernel<F>, dim3(blocks_of(count, kBlock / kWarp)), dim3(kBlock), 0,
         count, f);
}

/// Computes f(v) with all lanes of a warp; one lane stores it.
template <class F>
struct NumberOfVector {
  F f;
  double* out;
  NINE_D void operator()(int64_t v) const {
    const double x = f(v);
    if (lane_of_warp() == 0) out[v] = x;
  }
};
/// Reads the numbers that NumberOfVector stored.
struct StoredNumber {
  const double* x;
  NINE_D double operator()(int64_t i) const { return x[i]; }
};
/// Calls put_sum(f(0) + ... + f(count - 1)) on the device (sum_of), with a warp for each f(v). Uses
/// both scratch buffers of the device.
template <class F, class Put>
void sum_of_vectors(CudaDevice& device, const char* op, int64_t count, const F& f,
                    const Put& put_sum) {
  double* all = device.scratch<double>(std::max<int64_t>(1, count), 1);
  each_vector(device, op, count, NumberOfVector<F>{f, all});
  sum_of(device, op, count, StoredNumber{all}, put_sum);
}

}  // namespace nine::cuda

// For the device only; nvcc also compiles the callers for the host, where they never run.
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
#define NINE_IN_WARP(...) __VA_ARGS__
#else
#define NINE_IN_WARP(...)
#endif

/// See scores::Visit. First sums over each lane, then over the lanes in a fixed order; loads four
/// terms of a lane before it adds them.
template <class T>
struct nine::scores::Visit<nine::cuda::InWarp<T>> {
  template <class Term>
  NINE_HD static double sum([[maybe_unused]] int64_t n, [[maybe_unused]] Term&& term) {
    double sum = 0;
    NINE_IN_WARP({
      const int64_t lane = cuda::lane_of_warp();
      _Pragma("unroll 4") for (int64_t k = lane; k < n; k += cuda::kWarp) sum += term(k);
      sum = cuda::warp_sum(sum);
    })
    return sum;
  }
  template <class F>
  NINE_HD static void each([[maybe_unused]] int64_t n, [[maybe_unused]] F&& f) {
    NINE_IN_WARP({
      const int64_t lane = cuda::lane_of_warp();
      for (int64_t k = lane; k < n; k += cuda::kWarp) f(k);
    })
  }
  template <class F>
  NINE_HD static void once([[maybe_unused]] F&& f) {
    NINE_IN_WARP({
      if (cuda::lane_of_warp() == 0) f();
    })
  }
};
#undef NINE_IN_WARP
