// Python's random.random() after random.seed(S): subword-nmt draws its dropout from these numbers.
#pragma once

#include <cstdint>
#include <random>

namespace nine {

/// The Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded as CPython seeds it.
class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed);
  /// Draws a uniform number in [0, 1) with 53 bits.
  double uniform() {
    const uint64_t high = state_() >> 5, low = state_() >> 6;
    return static_cast<double>(high * 67108864 + low) * 0x1p-53;
  }

 private:
  std::mt19937 state_;
};

}  // namespace nine
