// The parts that all streams of training batches share: the order of an epoch, which depends on
// seed and epoch only, and a position in this order.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"

namespace nine {

/// Holds the position of a training stream: that of the batch that next() returns.
struct BatchPosition {
  int64_t epoch = 0;
  int64_t step = 0;  ///< within the epoch; one step is one call of next()
  bool operator==(const BatchPosition&) const = default;
};

/// Checks a position. Error: a negative epoch or step, or an epoch of 2^32 or more.
inline void require_position(BatchPosition p) {
  require(p.epoch >= 0 && p.epoch <= std::numeric_limits<uint32_t>::max() && p.step >= 0,
          "a training position cannot be epoch ", p.epoch, ", step ", p.step);
}

/// Shuffles `items` (Fisher-Yates, from the last element down) with random numbers keyed by seed,
/// epoch and `stream`, which is the stream_id() of this shuffle's name.
template <class T>
void shuffle(std::vector<T>& items, uint64_t seed, int64_t epoch, uint32_t stream) {
  RandomStream random({.seed = seed, .step = static_cast<uint32_t>(epoch), .op = stream});
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// Gives batches of training data, epoch after epoch. The next batch depends on (seed, epoch, step)
/// only, so that a run resumes with seek().
class EpochStream {
 public:
  virtual ~EpochStream() = default;

  /// Returns the number of batches in the current epoch. Epochs may have different numbers of
  /// batches.
  virtual int64_t steps() const = 0;
  /// Continues at a position. Step steps() is the end of the epoch. Error: the epoch has no such
  /// step.
  virtual void seek(BatchPosition position) = 0;
  void start_epoch(int64_t epoch) { seek({epoch, 0}); }

  BatchPosition position() const { return position_; }
  bool epoch_finished() const { return position_.step == steps(); }
  /// Returns the fraction of the current epoch that is done, in [0, 1].
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
  /// Fills `batch` and returns true. At the end of the epoch, returns false and writes nothing.
  virtual bool next(Batch& batch) = 0;
};

/// A BatchStream that orders sentences or pairs anew for each epoch and cuts them into batches.
template <class Batch>
class OrderedBatches : public BatchStream<Batch> {
 public:
  int64_t steps() const override { return std::ssize(batches_); }

  void seek(BatchPosition position) override {
    require_position(position);
    if (batches_.empty() || position.epoch != position_.epoch) {
      plan(position.epoch);
      position_ = {position.epoch, 0};
    }
    require(position.step <= steps(), "epoch ", position.epoch, " has ", steps(),
            " batches, so training cannot continue at step ", position.step,
            ": have the text, the batch size or the batch tokens changed?");
    position_ = position;
  }

 protected:
  struct Range {
    size_t begin, end;  // places in order_
  };
  using EpochStream::position_;

  /// Fills order_ and batches_ for an epoch.
  virtual void plan(int64_t epoch) = 0;
  const Range& range() const { return batches_[static_cast<size_t>(position_.step)]; }
  /// Returns the part of order_ that the next batch holds; empty at the end of the epoch.
  std::span<const int32_t> chosen() const {
    if (this->epoch_finished()) return {};
    return std::span(order_).subspan(range().begin, range().end - range().begin);
  }

  std::vector<int32_t> order_;  // numbers of sentences or pairs in the corpus
  std::vector<Range> batches_;  // in the order in which next() returns them
};

}  // namespace nine
