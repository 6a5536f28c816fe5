// The rows of a table of vectors that have a gradient.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// The rows of a table's gradient that were written since the last clear(). It saves passes over
/// the table if most rows are 0, as with the few words of a step. Its memory grows once to the
/// table's size and is kept.
class TouchedRows {
 public:
  /// Adds `ids` of a table of `rows` rows, in any order and with repetitions. Ids outside of [0,
  /// rows) are ignored.
  void touch(std::span<const int32_t> ids, int64_t rows) {
    marks_.resize(static_cast<size_t>(rows));
    for (const int32_t id : ids) {
      if (id < 0 || id >= rows || marks_[static_cast<size_t>(id)]) continue;
      marks_[static_cast<size_t>(id)] = true;
      ids_.push_back(id);
      sorted_ = false;
    }
  }
  /// Marks every row until clear().
  void touch_all() { all_ = true; }
  bool all() const { return all_; }
  /// Returns the added rows in ascending order, each once. Meaningless if all() is true.
  const std::vector<int32_t>& rows() {
    if (!sorted_) std::sort(ids_.begin(), ids_.end());
    sorted_ = true;
    return ids_;
  }
  void clear() {
    for (const int32_t id : ids_) marks_[static_cast<size_t>(id)] = false;
    ids_.clear();
    all_ = false;
    sorted_ = true;
  }

 private:
  std::vector<bool> marks_;
  std::vector<int32_t> ids_;
  bool all_ = false, sorted_ = true;
};

}  // namespace nine
