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
  // random_bits(), with indices that are constants: the four numbers then stay in registers.
  NINE_D uint32_t bits_of(uint64_t element) const {
    const std::array<uint32_t, 4> four = philox(key, element / 4);
    const uint32_t low = element % 2 == 0 ? four[0] : four[1],
                   high = element % 2 == 0 ? four[2] : four[3];
    return element % 4 < 2 ? low : high;
  }
  NINE_D T of(int64_t element) const {
    return p == 0.0f || uniform_of_bits(bits_of(static_cast<uint64_t>(element))) >= p ? keep : T(0);
  }
};

}  // namespace nine::cuda
