// Which of an update's micro-batches a process computes.
#pragma once

#include "core/communicator.h"
#include "core/error.h"

namespace nine {

/// Slots [first, end) of `all`. A slot has no data where an epoch's last update has fewer.
struct MicroBatchSlots {
  int all = 1, first = 0, end = 1;

  int own() const { return end - first; }
  bool has(int i) const { return i >= first && i < end; }

  /// The most that RandomKey::micro_batch can tell apart.
  static constexpr int kMost = 1 << 16;

  /// Equal parts, in the order of the ranks; null: one process. Errors: `accumulate` is not from 1
  /// to kMost; the number of processes is no power of two, or does not divide it.
  static MicroBatchSlots of(int accumulate, const Communicator* communicator) {
    const int size = communicator != nullptr ? communicator->size() : 1;
    require(accumulate >= 1 && accumulate <= kMost, "accumulation steps of ", accumulate,
            " are not from 1 to ", kMost);
    require(is_power_of_two(size) && accumulate % size == 0, "accumulation steps of ", accumulate,
            " cannot be shared out among ", size,
            " processes: their number must be a power of two that divides it");
    const int part = accumulate / size, rank = communicator != nullptr ? communicator->rank() : 0;
    return {.all = accumulate, .first = rank * part, .end = (rank + 1) * part};
  }
};

}  // namespace nine
