#include "nn/key_value_cache.h"

#include <algorithm>
#include <limits>

#include "core/ops.h"

namespace nine {

void KeyValueCache::append(const View& keys_values) {
  require(keys_values.cols() == 2 * size_, "[KeyValueCache] keys and values of shape ",
          keys_values.shape, ", not of ", 2 * size_, " numbers");
  const int64_t needed = rows_ + keys_values.rows();
  if (!memory_ || needed > memory_.shape().rows()) {
    const Tensor larger({std::max(2 * rows_, needed), 2 * size_}, dtype_, device_);
    if (rows_ > 0) ops::copy(memory_.row_range(0, rows_), larger.row_range(0, rows_));
    memory_ = larger;
  }
  ops::copy(keys_values, memory_.row_range(rows_, keys_values.rows()));
  rows_ = needed;
}

void ReadWords::start(int64_t slots) {
  slots_ = slots;
  length_ = used_ = 0;
  last_.clear();
  words_.resize(static_cast<size_t>(slots_ * stride_));
  rows_.resize(words_.size());
}

// Gives each slot the text of slot from[i] (empty: its own), and a stride of `stride`.
void ReadWords::make_place(std::span<const int32_t> from, int64_t stride) {
  for (std::vector<int32_t>* table : {&words_, &rows_}) {
    moved_.resize(static_cast<size_t>(slots_ * stride));
    for (int64_t slot = 0; slot < slots_; ++slot) {
      const int64_t source = from.empty() ? slot : from[static_cast<size_t>(slot)];
      if (source >= 0)
        std::copy_n(table->begin() + source * stride_, length_, moved_.begin() + slot * stride);
    }
    std::swap(*table, moved_);
  }
  stride_ = stride;
}

void ReadWords::reorder(std::span<const int32_t> from) {
  require(std::ssize(from) == slots_ &&
              std::all_of(from.begin(), from.end(), [&](int32_t s) { return s < slots_; }),
          "[ReadWords] the new order needs a slot for each of ", slots_);
  make_place(from, stride_);
}

void ReadWords::read(std::span<const DecoderRow> rows) {
  if (length_ == stride_) make_place({}, std::max<int64_t>(16, 2 * stride_));
  require(std::ssize(rows) <= std::numeric_limits<int32_t>::max() - used_,
          "[ReadWords] the texts have more words than an index can count");
  last_.clear();
  for (const auto& [slot, word] : rows) {
    require(slot >= 0 && slot < slots_, "[ReadWords] slot ", slot, " of ", slots_);
    const auto place = static_cast<size_t>(slot * stride_ + length_);
    words_[place] = word;
    rows_[place] = used_++;
    last_.push_back(slot);
  }
  ++length_;
}

KeyLists ReadWords::lists(Tape& tape) const {
  const int64_t texts = std::ssize(last_);
  const Tensor listed({texts * length_}, DType::int32), first({texts}, DType::int32),
      counts({texts}, DType::int32);
  for (int64_t i = 0; i < texts; ++i) {
    std::ranges::copy(rows(last_[static_cast<size_t>(i)]), listed.data<int32_t>() + i * length_);
    first.data<int32_t>()[i] = static_cast<int32_t>(i * length_);
    counts.data<int32_t>()[i] = static_cast<int32_t>(length_);
  }
  return {tape.on_device(listed), tape.on_device(first), tape.on_device(counts)};
}

}  // namespace nine
