// What a process has of an update's work: micro-batches, and a share of each slab.
#pragma once

#include <cstdint>
#include <functional>

#include "core/buffer.h"
#include "core/communicator.h"
#include "core/error.h"

namespace nine {

/// Which of an update's micro-batches a process computes: slots [first, end) of `all`. A slot has
/// no data where an epoch's last update has fewer.
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

/// A slab of a ParameterSet shared out among processes: each one sums the gradients of its share,
/// updates it, and hands its values to the others (Rajbhandari et al., 2020: ZeRO stage 1).
///
/// The slab in blocks of kBlock elements, the last one shorter. A rank's share is a range of whole
/// blocks, so that sums over blocks, added in order, do not depend on the number of ranks. Slabs
/// are contiguous and in the CPU's memory. Errors: those of Communicator.
class SlabShares {
 public:
  static constexpr int64_t kBlock = 32768;  ///< as in the sums of core/cpu/reduce.cpp

  /// Error: the number of ranks is no power of two. `communicator` must outlive this.
  SlabShares(int64_t elements, Communicator& communicator);

  /// A range of blocks or of elements; it may be empty.
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
  };
  int64_t elements() const { return elements_; }
  int64_t blocks() const { return (elements_ + kBlock - 1) / kBlock; }
  /// Of this rank, or of another one.
  Range own_blocks() const { return blocks_of(communicator_.rank()); }
  Range blocks_of(int rank) const { return blocks_after(rank, levels_); }
  Range own() const { return elements_of(own_blocks()); }
  Range share_of(int rank) const { return elements_of(blocks_of(rank)); }
  /// This rank's part of a slab, a vector.
  View part(const View& slab) const;

  /// Adds the slabs of all ranks: with rank ^ 1 first, then rank ^ 2, rank ^ 4 ..., a half of what
  /// is left at a time, until each rank has the sum of its own share. A rank without data brings
  /// nothing: has_data(rank) says so, alike in all ranks.
  void reduce_scatter(const View& slab, const std::function<bool(int)>& has_data);
  /// Each rank's share of the slab, in all ranks.
  void all_gather(const View& slab) const;
  /// Each rank's share (`own`, elements of own()) into rank 0's slab; other ranks' `slab` is empty.
  void gather(const View& own, const View& slab) const;

 private:
  // The blocks that a rank is left with after so many halvings.
  Range blocks_after(int rank, int level) const;
  Range elements_of(Range blocks) const;
  bool any_data(int rank, int level, const std::function<bool(int)>& has_data) const;
  void exchange_and_add(const View& slab, int other, Range give, Range keep, bool mine,
                        bool theirs);

  int64_t elements_;
  Communicator& communicator_;
  int levels_ = 0;
  Buffer<double> received_;
};

}  // namespace nine
