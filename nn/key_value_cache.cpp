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

void KeyValueCache::keep(const std::vector<int32_t>& rows) {
  const int64_t kept = std::ssize(rows);
  if (kept > 0) {
    const Tensor memory({2 * kept, 2 * size_}, dtype_, device_);
    ops::embedding(keys_values(), Tensor::from(rows, {kept}).to(device_),
                   memory.row_range(0, kept));
    memory_ = memory;
  }
  rows_ = kept;
}

void ReadWords::start(int64_t slots) {
  lengths_.assign(static_cast<size_t>(slots), 0);
  used_ = 0;
  last_.clear();
  places_.clear();
  words_.resize(static_cast<size_t>(slots * stride_));
  rows_.resize(words_.size());
}

void ReadWords::add_slot() {
  words_.resize(static_cast<size_t>((slots() + 1) * stride_));
  rows_.resize(words_.size());
  lengths_.push_back(0);  // last, because only then does the slot count
}

int64_t ReadWords::length() const {
  return lengths_.empty() ? 0 : *std::ranges::max_element(lengths_);
}

size_t ReadWords::checked(int64_t slot) const {
  require(slot >= 0 && slot < slots(), "[ReadWords] slot ", slot, " of ", slots());
  return static_cast<size_t>(slot);
}

// Gives each slot the text of slot from[i] (empty: its own), and a stride of `stride`.
void ReadWords::make_place(std::span<const int32_t> from, int64_t stride) {
  const auto source_of = [&](int64_t slot) {
    return from.empty() ? slot : from[static_cast<size_t>(slot)];
  };
  for (std::vector<int32_t>* table : {&words_, &rows_}) {
    moved_.resize(static_cast<size_t>(slots() * stride));
    for (int64_t slot = 0; slot < slots(); ++slot)
      if (const int64_t source = source_of(slot); source >= 0)
        std::ranges::copy(of(*table, source), moved_.begin() + slot * stride);
    std::swap(*table, moved_);
  }
  stride_ = stride;
  if (from.empty()) return;
  const std::vector<int64_t> before = lengths_;
  for (size_t slot = 0; slot < before.size(); ++slot)
    lengths_[slot] = from[slot] < 0 ? 0 : before[static_cast<size_t>(from[slot])];
}

void ReadWords::reorder(std::span<const int32_t> from) {
  require(std::ssize(from) == slots() &&
              std::all_of(from.begin(), from.end(), [&](int32_t s) { return s < slots(); }),
          "[ReadWords] the new order needs a slot for each of ", slots());
  make_place(from, stride_);
}

void ReadWords::read(std::span<const DecoderRow> rows) {
  require(std::ssize(rows) <= std::numeric_limits<int32_t>::max() - used_,
          "[ReadWords] the texts have more words than an index can count");
  last_.clear();
  places_.clear();
  for (const auto& [slot, word] : rows) {
    int64_t& length = lengths_[checked(slot)];
    if (length == stride_) make_place({}, std::max<int64_t>(16, 2 * stride_));
    const auto place = static_cast<size_t>(slot * stride_ + length);
    words_[place] = word;
    rows_[place] = used_++;
    last_.push_back(slot);
    places_.push_back(static_cast<int32_t>(length++));
  }
}

KeyLists ReadWords::lists(Tape& tape) const {
  const int64_t count = std::ssize(last_);
  const Tensor first({count}, DType::int32), counts({count}, DType::int32);
  std::vector<int32_t> listed;
  std::vector<int32_t> begins(lengths_.size(),
                              -1);  // of each slot's list in `listed`
  for (size_t i = 0; i < last_.size(); ++i) {
    int32_t& begin = begins[static_cast<size_t>(last_[i])];
    if (begin < 0) {
      begin = static_cast<int32_t>(listed.size());
      const std::span<const int32_t> own = rows(last_[i]);
      listed.insert(listed.end(), own.begin(), own.end());
    }
    first.data<int32_t>()[i] = begin;
    counts.data<int32_t>()[i] = places_[i] + 1;
  }
  return {tape.on_device(Tensor::from(listed, {std::ssize(listed)})), tape.on_device(first),
          tape.on_device(counts)};
}

std::vector<int32_t> ReadWords::keep(std::span<const int32_t> slots) {
  std::vector<int32_t> kept, moved(static_cast<size_t>(used_), -1);
  std::vector<bool> keeps(lengths_.size());
  for (const int32_t slot : slots) keeps[checked(slot)] = true;
  for (size_t slot = 0; slot < keeps.size(); ++slot) {
    if (!keeps[slot]) lengths_[slot] = 0;
    int32_t* const own = rows_.data() + static_cast<int64_t>(slot) * stride_;
    for (int64_t i = 0; i < lengths_[slot]; ++i) {
      int32_t& place = moved[static_cast<size_t>(own[i])];
      if (place < 0) {
        place = static_cast<int32_t>(kept.size());
        kept.push_back(own[i]);
      }
      own[i] = place;
    }
  }
  used_ = static_cast<int32_t>(kept.size());
  return kept;
}

}  // namespace nine
