// e^x as the terms of a softmax take it: in float32 a multiplication and one instruction of the
// GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/log_sum_exp.h"
#include "cuda/launch.cuh"

namespace nine::cuda {

#ifndef __CUDACC__
namespace on_host {

/// Returns 2^x with the largest error that the instruction may have, up or down by the bits of x.
/// 2^0 is exact, as the PTX ISA's table of ex2 has it: a running sum is multiplied by 2^0 wherever
/// its largest term stays the largest.
inline float exp2_approx(float x) {
  if (x == 0) return 1;
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  const double error = (bits * 2654435761u >> 31 == 0 ? 0.75 : -0.75) / (1 << 22);
  const auto y = static_cast<float>(std::exp2(static_cast<double>(x)) * (1 + error));
  return y < std::numeric_limits<float>::min() ? 0.0f : y;
}

}  // namespace on_host
#endif

/// Returns 2^x by the instruction ex2.approx.ftz, with a relative error of at most 2^-22; 0 where
/// 2^x is below the normal numbers, NaN for NaN.
NINE_D inline float exp2_approx(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return on_host::exp2_approx(x);
#endif
}

/// Returns a softmax's term e^x, where x <= 0 is the distance of a score from the largest one or
/// from the log sum. In float32 x log2 e is rounded before the instruction: the relative error is
/// at most 2^-22 + 1.3 |x| 2^-24, so no probability is wrong by more than 2.7e-7. The scores
/// themselves are float32. float64 takes vexp.
template <class T>
NINE_D T term_exp(T x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return exp2_approx(x * 1.4426950408889634074f);
  } else {
    return vexp(x);
  }
}

/// Takes term_exp for the exponential of a kernel's formula (SeriesMath), with that error for an x
/// of either sign: e^x is infinity above 88.8, and 0 below -87.3.
struct ApproximateMath {
  template <class T>
  NINE_D static T exp(T x) {
    return term_exp(x);
  }
};

/// Adds n terms to a running sum: one rescaling for all of them, and no branch. A term of -infinity
/// adds nothing; a NaN stays a NaN.
template <class T, int n>
NINE_D void add_terms(RunningLogSumExp<T>& to, const T (&x)[n]) {
  T high = to.top, terms = 0;
#pragma unroll
  for (int i = 0; i < n; ++i) high = std::fmax(high, x[i]);
#pragma unroll
  for (int i = 0; i < n; ++i) terms += term_exp(x[i] - high);
  to.sum = to.sum * term_exp(to.top - high) + terms;
  to.top = high;
}

}  // namespace nine::cuda
