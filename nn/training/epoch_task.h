// A training task whose data is a stream of batches with epochs.
#pragma once

#include "data/batch_stream.h"
#include "nn/training/trainer.h"

namespace nine {

/// The part of a TrainingTask that follows from its data alone: epochs and the position in them.
class EpochTask : public TrainingTask {
 public:
  void start_epoch(int64_t epoch) override { stream_.start_epoch(epoch); }
  bool epoch_finished() const override { return stream_.epoch_finished(); }
  double epoch_share() const override { return stream_.epoch_share(); }
  /// {"epoch": e, "step": s}: s batches of epoch e are done.
  Json position() const override;
  void seek(const Json& position) override;

 protected:
  /// `stream` must outlive the task.
  explicit EpochTask(EpochStream& stream) : stream_(stream) {}

 private:
  EpochStream& stream_;
};

}  // namespace nine
