// The factors of dropout, for CPU loops.
#pragma once

#include <algorithm>

#include "core/isa.h"
#include "core/random.h"

namespace nine::cpu {
inline namespace NINE_ISA {

inline constexpr int64_t kMaskNumbers =
    4 * kPhiloxRun;  // random numbers computed in one vectorised loop

/// Calls f(first, count, m) for ranges of [0, n), where m[i], 0 or 1 / (1 - p), is dropout's factor
/// for the element with index `element` + first + i.
template <class T, class F>
void with_mask(const RandomKey& key, double p, int64_t element, int64_t n, F&& f) {
  const auto threshold = static_cast<float>(p);
  const T keep = static_cast<T>(1 / (1 - p));
  alignas(64) uint32_t bits[kMaskNumbers];
  alignas(64) T mask[kMaskNumbers];
  std::fill_n(mask, kMaskNumbers, T(1));  // for p = 0, which needs no random numbers
  for (int64_t done = 0; done < n;) {
    const int64_t skip = (element + done) % 4, count = std::min(n - done, kMaskNumbers - skip);
    if (p > 0) {
      philox_run(key, static_cast<uint64_t>((element + done) / 4), bits);
      for (int64_t i = 0; i < kMaskNumbers; ++i)
        mask[i] = uniform_of_bits(bits[i]) >= threshold ? keep : T(0);
    }
    f(done, count, mask + skip);
    done += count;
  }
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
