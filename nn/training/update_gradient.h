// The gradient, the loss and the statistics of one update, the same to the bit for any number of
// processes that share its micro-batches.
#pragma once

#include <memory>
#include <vector>

#include "nn/training/gradient_tree.h"
#include "nn/training/micro_batches.h"
#include "nn/training/slab_shares.h"
#include "nn/training/train_step.h"

namespace nine {

/// Computes this process's micro-batches of updates, and exchanges sums with the other processes.
class UpdateGradient {
 public:
  /// All must outlive this. Errors: several processes on another device than the CPU;
  /// MicroBatchSlots::of's.
  UpdateGradient(ParameterSet& set, Tape& tape, const TrainStep::Config& config);

  /// Leaves the gradient in the set's gradients (of several processes: in this one's share of them)
  /// and its squared norm in norm_squared(). tokens: what data.fetch() returned.
  StepResult compute(TrainingSource& data, int64_t step, int64_t tokens);
  /// float64 scalar on the device.
  View norm_squared() const;

 private:
  void begin_records(TrainingSource& data);
  void micro_batch(TrainingSource& data, int i, double row_weight);
  void form_norm(int count);
  void sum_blocks();
  void merge_touched();
  void merge_statistics(int count);
  StepResult totals(int64_t tokens, int count) const;
  // Parts of `records_`: of a rank, and of slot i in its owner's.
  double* record(int rank) { return records_.data() + rank * record_size_; }
  const double* slot(int i) const;
  double* slot(int i) { return const_cast<double*>(std::as_const(*this).slot(i)); }

  ParameterSet& set_;
  Tape& tape_;
  Communicator& communicator_;
  TrainStep::Config config_;
  MicroBatchSlots slots_;
  GradientTree tree_;
  std::unique_ptr<SlabShares> shares_;  // of several processes
  // float64 on the device, read once an update: loss and nats of each own slot, the squared norm.
  Tensor device_totals_;
  std::vector<double> host_totals_;
  // Of each rank: seconds, sums of squares of its blocks; of each of its slots: loss, nats,
  // statistics.
  std::vector<double> records_;
  std::vector<StepStatistic> statistics_;
  int64_t record_size_ = 0, most_blocks_ = 0, slot_size_ = 0;
};

}  // namespace nine
