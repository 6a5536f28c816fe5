// The order in which training data comes: a position in it, and shuffles that follow from seed and
// epoch alone.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"

namespace nine {

/// Where a training stream stands: the batch that next() gives next.
struct BatchPosition {
  int64_t epoch = 0;
  int64_t step = 0;  ///< within the epoch; one step is one call of next()
  bool operator==(const BatchPosition&) const = default;
};

/// Error: a negative epoch or step, or an epoch of 2^32 or more.
inline void require_position(BatchPosition p) {
  require(p.epoch >= 0 && p.epoch <= std::numeric_limits<uint32_t>::max() && p.step >= 0,
          "no training position is epoch ", p.epoch, ", step ", p.step);
}

/// Shuffles `items` (Fisher-Yates, from the last element down) with random numbers that follow from
/// seed, epoch and `stream`, the shuffle's own number.
template <class T>
void shuffle(std::vector<T>& items, uint64_t seed, int64_t epoch, uint32_t stream) {
  RandomStream random({.seed = seed, .step = static_cast<uint32_t>(epoch), .op = stream});
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace nine
