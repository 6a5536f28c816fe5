// Computes the gradient, loss and statistics of one update. The results are bit-identical for any
// number of processes that share its micro-batches.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/ops.h"
#include "nn/parameters.h"
#include "nn/training/process_shares.h"
#include "nn/training/train_step.h"

namespace nine {

/// Adds the gradients of micro-batches in a tree. Each range of slots is halved, with floor(n / 2)
/// slots in the left half, down to single slots. A half without data is left out, and the sum is
/// that of the other half. Each level but the first needs a slab, which is kept for later updates.
class GradientTree {
 public:
  explicit GradientTree(ParameterSet& set) : set_(set), levels_{set.gradients()} {}

  /// Stores in the set's gradients the sum over slots [first, end), of which those before `count`
  /// have data. gradient(i) must store micro-batch i's gradient in the set's gradients.
  template <class Gradient>
  void sum(int first, int end, int count, Arena& arena, Gradient&& gradient) {
    if (first >= count) return;
    if (std::exchange(begun_, true)) clear_own_slabs();
    const OwnSlab restore(*this);
    sum_level(0, first, end, count, arena, gradient);
    begun_ = false;
  }

 private:
  // Gives the set its own slab back, also after an error.
  struct OwnSlab {
    explicit OwnSlab(GradientTree& t) : tree(t) {}
    ~OwnSlab() {
      if (tree.level_ > 0) tree.use(0);
    }
    OwnSlab(const OwnSlab&) = delete;
    OwnSlab& operator=(const OwnSlab&) = delete;
    GradientTree& tree;
  };

  // Clears the slabs after an error, because rows that a gradient does not touch must be 0.
  void clear_own_slabs() {
    for (size_t level = 1; level < levels_.size(); ++level) ops::fill(levels_[level], 0);
  }

  void use(size_t level) {
    while (levels_.size() <= level) levels_.push_back(set_.new_slab());
    set_.use_gradients(levels_[level]);
    level_ = level;
  }

  template <class Gradient>
  void sum_level(size_t level, int first, int end, int count, Arena& arena, Gradient&& gradient) {
    if (end - first == 1) {
      gradient(first);
      return set_.zero_missing_grads();
    }
    const int middle = first + (end - first) / 2;
    sum_level(level, first, middle, count, arena, gradient);
    if (middle >= count) return;
    use(level + 1);
    sum_level(level + 1, middle, end, count, arena, gradient);
    const Tensor right = levels_[level + 1];
    use(level);
    set_.add_gradients(right, arena);
  }

  ParameterSet& set_;
  std::vector<Tensor> levels_;
  size_t level_ = 0;
  bool begun_ = false;  // true while a sum has not ended
};

/// Computes this process's micro-batches of updates, and exchanges sums with the other processes.
class UpdateGradient {
 public:
  /// All arguments must outlive this object. Errors: several processes on a device other than the
  /// CPU; the errors of MicroBatchSlots::of.
  UpdateGradient(ParameterSet& set, Tape& tape, const TrainStep::Config& config);

  /// Stores the gradient in the set's gradients (with several processes: in this process's share)
  /// and its squared norm in norm_squared(). tokens: the result of data.fetch().
  StepResult compute(TrainingSource& data, int64_t step, int64_t tokens);
  /// Returns a float64 scalar on the device.
  View norm_squared() const;

 private:
  void begin_records(TrainingSource& data);
  void micro_batch(TrainingSource& data, int i, double row_weight);
  void form_norm(int count);
  void sum_blocks();
  void merge_touched();
  void merge_statistics(int count);
  StepResult totals(int64_t tokens, int count) const;
  // Return parts of `records_`: the record of a rank, and slot i in its owner's record.
  double* record(int rank) { return records_.data() + rank * record_size_; }
  const double* slot(int i) const;
  double* slot(int i) { return const_cast<double*>(std::as_const(*this).slot(i)); }

  ParameterSet& set_;
  Tape& tape_;
  Communicator& communicator_;
  TrainStep::Config config_;
  MicroBatchSlots slots_;
  GradientTree tree_;
  std::unique_ptr<SlabShares> shares_;  // null with one process
  // float64 on the device, read once per update: loss and nats of each own slot, the squared norm.
  Tensor device_totals_;
  std::vector<double> host_totals_;
  // For each rank: seconds and the sums of squares of its blocks; for each of its slots: loss, nats
  // and statistics.
  std::vector<double> records_;
  std::vector<StepStatistic> statistics_;
  int64_t record_size_ = 0, most_blocks_ = 0, slot_size_ = 0;
};

}  // namespace nine
