#include "nn/models/segment_reader.h"

#include <algorithm>

namespace nine {

SegmentReader::SegmentReader(const LanguageNetwork& network, int64_t columns)
    : network_(network), columns_(columns), carried_(network.new_state(columns)) {}

int64_t SegmentReader::next_rows(int64_t most) const {
  const int64_t window = network_.window();
  return window == 0 ? most : window - std::ssize(kept_) / columns_;
}

int64_t SegmentReader::later_rows(const LanguageNetwork& network, int64_t most) {
  const int64_t window = network.window();
  return window == 0 ? most : window - window / 2;
}

int64_t SegmentReader::first_row(const LanguageNetwork& network, int64_t row) {
  const int64_t window = network.window();
  if (window == 0 || row < window) return 0;
  const int64_t later = later_rows(network, window);
  return later * ((row - window) / later + 1);
}

Var SegmentReader::read(Tape& tape, std::span<const int32_t> ids, int64_t rows) {
  const int64_t before = std::ssize(kept_) / columns_;
  kept_.insert(kept_.end(), ids.begin(), ids.end());
  carried_.on(tape, state_);
  const Var hidden = network_.encode(tape, Tensor::from(kept_, {before + rows, columns_}), state_);
  carried_.store(state_);
  const int64_t keep = std::min(network_.window() / 2, before + rows);
  kept_.erase(kept_.begin(), kept_.end() - keep * columns_);
  return before == 0 ? hidden : row_range(hidden, before * columns_, rows * columns_);
}

}  // namespace nine
