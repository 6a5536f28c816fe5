// The factors of dropout, for CUDA kernels: a function of the key and the element, the same as on
// the CPU (core/random.h).
#pragma once

#include "cuda/launch.cuh"

namespace nine::cuda {

/// 0 with probability p, 1 / (1 - p) otherwise.
template <class T>
struct DropoutMask {
  RandomKey key;
  float p;
  T keep;

  DropoutMask(const RandomKey& k, double probability)
      : key(k), p(static_cast<float>(probability)), keep(static_cast<T>(1 / (1 - probability))) {}
  NINE_D T of(int64_t element) const {
    return p == 0.0f || random_uniform(key, static_cast<uint64_t>(element)) >= p ? keep : T(0);
  }
};

}  // namespace nine::cuda
