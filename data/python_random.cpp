#include "data/python_random.h"

#include <array>
#include <cstddef>

namespace nine {

namespace {

constexpr size_t kWords = 624;

/// Gives std::mt19937 this state, because std::mt19937 would compute another state from a seed.
struct StateSource {
  using result_type = uint32_t;
  const std::array<uint32_t, kWords>& words;
  template <class It>
  void generate(It begin, It end) const {
    for (size_t i = 0; begin != end; ++begin, ++i) *begin = words[i];
  }
};

/// Computes init_by_array of the authors' mt19937ar.c.
std::array<uint32_t, kWords> initial_state(uint64_t seed) {
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  const size_t keys = key[1] != 0 ? 2 : 1;
  std::array<uint32_t, kWords> s{};
  s[0] = 19650218u;
  for (uint32_t i = 1; i < kWords; ++i) s[i] = 1812433253u * (s[i - 1] ^ (s[i - 1] >> 30)) + i;
  size_t i = 1, j = 0;
  const auto advance = [&] {
    if (++i < kWords) return;
    s[0] = s[kWords - 1];
    i = 1;
  };
  for (size_t k = 0; k < kWords; ++k) {
    s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1664525u)) + key[j] + static_cast<uint32_t>(j);
    advance();
    j = (j + 1) % keys;
  }
  for (size_t k = 1; k < kWords; ++k) {
    s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1566083941u)) - static_cast<uint32_t>(i);
    advance();
  }
  s[0] = 0x80000000u;
  return s;
}

}  // namespace

PythonRandom::PythonRandom(uint64_t seed) {
  const std::array<uint32_t, kWords> words = initial_state(seed);
  StateSource source{words};
  state_.seed(source);
}

}  // namespace nine
