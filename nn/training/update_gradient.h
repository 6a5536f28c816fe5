// The gradient, the loss and the statistics of one update, the same to the bit for any number of
// processes that share its micro-batches.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/ops.h"
#include "nn/parameters.h"
#include "nn/training/process_shares.h"
#include "nn/training/train_step.h"

namespace nine {

/// Adds the gradients of micro-batches in a tree: a range of slots is halved, the left part
/// floor(n / 2) of them, down to single ones. A half without data is left out: its sibling is taken
/// as it is. Each level but the first needs a slab of its own, which is kept.
class GradientTree {
 public:
  explicit GradientTree(ParameterSet& set) : set_(set), levels_{set.gradients()} {}

  /// Leaves in the set's gradients the sum over slots [first, end), of which those before `count`
  /// have data. gradient(i) leaves micro-batch i's gradient in the set's gradients.
  template <class Gradient>
  void sum(int first, int end, int count, Arena& arena, Gradient&& gradient) {
    if (first >= count) return;
    if (std::exchange(begun_, true)) clear_own_slabs();
    const OwnSlab restore(*this);
    sum_level(0, first, end, count, arena, gradient);
    begun_ = false;
  }

 private:
  // Gives the set its own slab back, after an error too.
  struct OwnSlab {
    explicit OwnSlab(GradientTree& t) : tree(t) {}
    ~OwnSlab() {
      if (tree.level_ > 0) tree.use(0);
    }
    OwnSlab(const OwnSlab&) = delete;
    OwnSlab& operator=(const OwnSlab&) = delete;
    GradientTree& tree;
  };

  // After an error: their rows must be 0 where a gradient does not touch them.
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
  bool begun_ = false;  // a sum that did not end
};

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
