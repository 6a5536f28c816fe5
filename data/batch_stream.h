// What the three streams of training batches share: an epoch's order, which follows from seed and
// epoch alone, and a position in it.
#pragma once

#include <cstdint>

#include "data/batch_order.h"

namespace nine {

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
  /// The part of the current epoch that is done, in [0, 1].
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
