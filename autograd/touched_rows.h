// Which rows of a table of vectors have a gradient.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// The rows of a table's gradient that an update has written, where most are 0: of a step's few
/// words, say. Its memory grows with the table once and is kept.
class TouchedRows {
 public:
  /// Ids of a table of `rows` rows, in any order and repeated; what lies outside is left out.
  void touch(std::span<const int32_t> ids, int64_t rows) {
    marks_.resize(static_cast<size_t>(rows));
    for (const int32_t id : ids) {
      if (id < 0 || id >= rows || marks_[static_cast<size_t>(id)]) continue;
      marks_[static_cast<size_t>(id)] = true;
      ids_.push_back(id);
      sorted_ = false;
    }
  }
  /// Every row, until clear().
  void touch_all() { all_ = true; }
  bool all() const { return all_; }
  /// The rows in ascending order, each once; of no meaning when all() is true.
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
