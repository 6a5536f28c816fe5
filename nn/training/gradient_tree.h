// The sum of an update's gradients, in an order that does not depend on who computes them.
#pragma once

#include <utility>
#include <vector>

#include "core/ops.h"
#include "nn/parameters.h"

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

}  // namespace nine
