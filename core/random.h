// Counter-based random numbers (Philox 4x32-10; Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A random number is a function of a key and an index, without a state. Any
// thread can compute any element, and backward recomputes a dropout mask instead of storing it.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

// Marks functions that CPU and CUDA code share.
#ifdef __CUDACC__
#define NINE_HD __host__ __device__
#else
#define NINE_HD
#endif

namespace nine {

/// Returns the number of a stream: the FNV-1a hash of its name, such as "dropout.embedding".
NINE_HD constexpr uint32_t stream_id(std::string_view name) {
  uint32_t h = 2166136261u;
  for (char c : name) h = (h ^ static_cast<uint8_t>(c)) * 16777619u;
  return h;
}

/// The key of a random number. The key and the index of an element determine the element's number;
/// equal keys give equal numbers.
struct RandomKey {
  uint64_t seed = 1;
  uint32_t step = 0;         ///< training step
  uint16_t micro_batch = 0;  ///< index of the micro-batch within the step
  uint16_t rank = 0;         ///< rank of the process; 0 in a run of one process
  uint32_t op = 0;           ///< stream_id() of the op or the purpose
};

/// Returns four independent 32-bit numbers: those that random_bits() returns for elements 4 * block
/// to 4 * block + 3.
NINE_HD inline std::array<uint32_t, 4> philox(const RandomKey& key, uint64_t block) {
  uint32_t c0 = static_cast<uint32_t>(block),
           c1 = (static_cast<uint32_t>(block >> 32) << 16) | key.micro_batch;
  uint32_t c2 = key.step, c3 = key.op;
  uint32_t k0 = static_cast<uint32_t>(key.seed),
           k1 = static_cast<uint32_t>(key.seed >> 32) ^ (key.rank * 0x85ebca6bu);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

/// The number of blocks that philox_run() computes, enough for compilers to vectorise its loop.
inline constexpr int kPhiloxRun = 16;
/// Fills `bits` with the numbers of the 4 * kPhiloxRun elements from 4 * block on.
inline void philox_run(const RandomKey& key, uint64_t block, uint32_t (&bits)[4 * kPhiloxRun]) {
  for (int j = 0; j < kPhiloxRun; ++j) {
    const std::array<uint32_t, 4> four = philox(key, block + static_cast<uint64_t>(j));
    for (size_t i = 0; i < 4; ++i) bits[4 * static_cast<size_t>(j) + i] = four[i];
  }
}

/// Returns the 32-bit number of one element.
NINE_HD inline uint32_t random_bits(const RandomKey& key, uint64_t element) {
  return philox(key, element / 4)[element % 4];
}

/// Returns a number in [0, 1) from the upper 24 bits, which float holds exactly.
NINE_HD inline float uniform_of_bits(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}
/// Returns the uniform number in [0, 1) of one element.
NINE_HD inline float random_uniform(const RandomKey& key, uint64_t element) {
  return uniform_of_bits(random_bits(key, element));
}

/// Returns the standard normal number of one element by Box and Muller's method. The computation is
/// in double, so that float and double parameters start from the same values.
inline double random_normal(const RandomKey& key, uint64_t element) {
  const auto r = philox(key, element / 2);
  const bool odd = element % 2 == 1;
  const double u = (static_cast<double>(r[0]) + 0.5) * 0x1p-32,
               v = (static_cast<double>(r[1]) + 0.5) * 0x1p-32;
  const double radius = std::sqrt(-2.0 * std::log(u)), angle = 6.283185307179586476925 * v;
  return radius * (odd ? std::sin(angle) : std::cos(angle));
}

/// Draws one number after another from random_bits(), for code such as shuffles and sample corpora.
/// Its position in the sequence is its only state, so that a sequence can continue from position().
class RandomStream {
 public:
  explicit RandomStream(const RandomKey& key, uint64_t position = 0)
      : key_(key), position_(position) {}
  uint32_t bits() { return random_bits(key_, position_++); }
  /// Draws a uniform number in [0, 1) with 53 bits.
  double uniform() {
    const uint64_t hi = bits(), lo = bits();
    return static_cast<double>(((hi << 32) | lo) >> 11) * 0x1p-53;
  }
  /// Draws a uniform integer in [0, n), without bias; n >= 1.
  uint64_t below(uint64_t n) {
    const uint64_t limit = ~uint64_t{0} - (~uint64_t{0} % n + 1) % n;
    for (;;) {
      const uint64_t hi = bits(), lo = bits(), x = (hi << 32) | lo;
      if (x <= limit) return x % n;
    }
  }
  uint64_t position() const { return position_; }

 private:
  RandomKey key_;
  uint64_t position_;
};

}  // namespace nine
