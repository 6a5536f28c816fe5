// A process's part of an update's work: micro-batches, and a share of each slab.
#pragma once

#include <cstdint>
#include <functional>

#include "core/buffer.h"
#include "core/communicator.h"
#include "core/error.h"

namespace nine {

/// The micro-batches of an update that a process computes: slots [first, end) of `all`. In an
/// epoch's last update some slots may have no data.
struct MicroBatchSlots {
  int all = 1, first = 0, end = 1;

  int own() const { return end - first; }
  bool has(int i) const { return i >= first && i < end; }

  /// The most micro-batches that RandomKey::micro_batch can tell apart.
  static constexpr int kMost = 1 << 16;

  /// Returns equal parts, in the order of the ranks. null: one process. Errors: `accumulate` is not
  /// from 1 to kMost; the number of processes is not a power of two, or does not divide
  /// `accumulate`.
  static MicroBatchSlots of(int accumulate, const Communicator* communicator) {
    const int size = communicator != nullptr ? communicator->size() : 1;
    require(accumulate >= 1 && accumulate <= kMost, "accumulation steps of ", accumulate,
            " must be from 1 to ", kMost);
    require(is_power_of_two(size) && accumulate % size == 0, "accumulation steps of ", accumulate,
            " cannot be shared out among ", size,
            " processes: their number must be a power of two that divides it");
    const int part = accumulate / size, rank = communicator != nullptr ? communicator->rank() : 0;
    return {.all = accumulate, .first = rank * part, .end = (rank + 1) * part};
  }
};

/// Shares a slab of a ParameterSet out among processes. Each process sums the gradients of its
/// share, updates it, and sends its values to the others (Rajbhandari et al., 2020: ZeRO stage 1).
///
/// The slab is cut into blocks of kBlock elements; the last block may be shorter. A rank's share is
/// a range of whole blocks, so that sums over blocks, added in order, do not depend on the number
/// of ranks. Slabs are contiguous and in the CPU's memory. Errors: those of Communicator.
class SlabShares {
 public:
  static constexpr int64_t kBlock = 32768;  ///< as in the sums of core/cpu/reduce.cpp

  /// Error: the number of ranks is not a power of two. `communicator` must outlive this object.
  SlabShares(int64_t elements, Communicator& communicator);

  /// A range of blocks or of elements; it may be empty.
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
  };
  int64_t elements() const { return elements_; }
  int64_t blocks() const { return (elements_ + kBlock - 1) / kBlock; }
  /// Return the blocks, and the elements, of this rank and of `rank`.
  Range own_blocks() const { return blocks_of(communicator_.rank()); }
  Range blocks_of(int rank) const { return blocks_after(rank, levels_); }
  Range own() const { return elements_of(own_blocks()); }
  Range share_of(int rank) const { return elements_of(blocks_of(rank)); }
  /// Returns this rank's part of a slab, as a vector.
  View part(const View& slab) const;

  /// Adds the slabs of all ranks by recursive halving: exchanges half of the remaining blocks with
  /// rank ^ 1, then with rank ^ 2, rank ^ 4, ..., until each rank has the sum of its share.
  /// has_data(rank) says whether a rank has data; a rank without data adds no term. All ranks must
  /// give the same answers.
  void reduce_scatter(const View& slab, const std::function<bool(int)>& has_data);
  /// Copies each rank's share of the slab to all ranks.
  void all_gather(const View& slab) const;
  /// Copies each rank's share (`own`, with the elements of own()) into rank 0's slab. On the other
  /// ranks `slab` is empty.
  void gather(const View& own, const View& slab) const;

 private:
  // Returns the blocks that a rank has left after `level` halvings.
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
