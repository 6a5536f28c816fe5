// What the streams of training batches share: an epoch's order, which follows from seed and epoch
// alone, and a position in it.
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

/// Shuffles `items` (Fisher-Yates, from the last element down) with random numbers keyed by seed,
/// epoch and `stream`, which is the stream_id() of this shuffle's name.
template <class T>
void shuffle(std::vector<T>& items, uint64_t seed, int64_t epoch, uint32_t stream) {
  RandomStream random({.seed = seed, .step = static_cast<uint32_t>(epoch), .op = stream});
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// Batches of training data, epoch after epoch. What comes next is a function of (seed, epoch,
/// step) alone, so that a run resumes with seek().
class EpochStream {
 public:
  virtual ~EpochStream() = default;

  /// Batches in the current epoch; epochs may differ.
  virtual int64_t steps() const = 0;
  /// Continues at any position; step steps() is an epoch's end. Error: no such position.
  virtual void seek(BatchPosition position) = 0;
  void start_epoch(int64_t epoch) { seek({epoch, 0}); }

  BatchPosition position() const { return position_; }
  bool epoch_finished() const { return position_.step == steps(); }
  /// The fraction of the current epoch that is done, in [0, 1].
  double epoch_share() const {
    return static_cast<double>(position_.step) / static_cast<double>(steps());
  }

 protected:
  BatchPosition position_;
};

/// An EpochStream of batches of one type.
template <class Batch>
class BatchStream : public EpochStream {
 public:
  /// Fills `batch`; false, and nothing written, at the end of the epoch.
  virtual bool next(Batch& batch) = 0;
};

}  // namespace nine
