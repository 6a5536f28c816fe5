#include "nn/models/transformer_language_decoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nine {

TransformerLanguageDecoder::TransformerLanguageDecoder(const TransformerLanguageModel& model)
    : model_(model) {
  for (const TransformerEncoderLayer& layer : model.layers_) {
    layer.pack(packed_);
    caches_.push_back(layer.new_cache(model.dtype(), model.device()));
  }
}

void TransformerLanguageDecoder::start(int64_t slots) {
  for (KeyValueCache& cache : caches_) cache.clear();
  read_.start(slots);
  begun_ = false;
}

void TransformerLanguageDecoder::begin(Tape& tape, int32_t slot) {
  tape.reset();  // its constants share the caches' memory
  if (slot == read_.slots()) {
    read_.add_slot();
  } else {
    read_.clear(slot);
  }
  begun_ = true;
}

Var TransformerLanguageDecoder::step(Tape& tape, std::span<const DecoderRow> rows) {
  const UsePacked use(tape, packed_);
  // Not in begin(): without memory for it, the other texts could not go on.
  if (std::exchange(begun_, false)) {
    std::vector<int32_t> all(static_cast<size_t>(read_.slots()));
    std::iota(all.begin(), all.end(), 0);
    drop_unused(all);
  }
  return fits(rows) ? next(tape, rows) : in_parts(tape, rows);
}

// True if the windows of all texts have place for the rows.
bool TransformerLanguageDecoder::fits(std::span<const DecoderRow> rows) const {
  std::vector<int64_t> free(static_cast<size_t>(read_.slots()), -1);
  for (const DecoderRow& row : rows) {
    const int64_t length = read_.length(row.slot);
    int64_t& left = free[static_cast<size_t>(row.slot)];
    if (left < 0) left = window() - length;
    if (left-- == 0) return false;
  }
  return true;
}

Var TransformerLanguageDecoder::next(Tape& tape, std::span<const DecoderRow> rows) {
  const int64_t count = std::ssize(rows);
  const Tensor ids({1, count}, DType::int32);
  for (size_t r = 0; r < rows.size(); ++r) ids.data<int32_t>()[r] = rows[r].word;
  read_.read(rows);
  const KeyLists lists = read_.lists(tape);
  const std::vector<int32_t>& own = read_.places();
  const bool same = std::ranges::all_of(own, [&](int32_t place) { return place == own.front(); });
  const RowPlaces places =
      same ? RowPlaces(own.front()) : RowPlaces(tape.on_device(Tensor::from(own, {count})));
  Var x = model_.with_positions(model_.embed(tape, ids), places);
  for (size_t i = 0; i < caches_.size(); ++i)
    x = model_.layers_[i].next(x, caches_[i], lists, places);
  return model_.normed(x);
}

// Reads rows of which not all have place in the windows: as many as have it, then the others.
Var TransformerLanguageDecoder::in_parts(Tape& tape, std::span<const DecoderRow> rows) {
  std::vector<int32_t> slots;  // of the rows, each once
  for (const DecoderRow& row : rows) slots.push_back(row.slot);
  std::ranges::sort(slots);
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  std::vector<Var> parts;
  std::vector<int32_t> places(rows.size());  // of each row in the parts together
  std::vector<size_t> left(rows.size());
  std::iota(left.begin(), left.end(), size_t{0});
  for (int32_t done = 0; !left.empty();) {
    read_again(tape, slots);
    std::vector<int64_t> free(static_cast<size_t>(read_.slots()));
    for (const int32_t slot : slots)
      free[static_cast<size_t>(slot)] = window() - read_.length(slot);
    std::vector<DecoderRow> part;
    std::erase_if(left, [&](size_t r) {
      if (free[static_cast<size_t>(rows[r].slot)]-- <= 0) return false;
      part.push_back(rows[r]);
      places[r] = done++;
      return true;
    });
    parts.push_back(next(tape, part));
  }
  return embedding(concat_rows(parts), tape.on_device(Tensor::from(places, {std::ssize(places)})));
}

// Handles full windows of texts: the later half becomes the first half of a new window. Positions
// are counted from a window's beginning, so all its keys change.
void TransformerLanguageDecoder::read_again(Tape& tape, std::span<const int32_t> slots) {
  const auto keep = static_cast<size_t>(window() / 2);
  std::vector<DecoderRow> again;
  for (const int32_t slot : slots) {
    if (read_.length(slot) < window()) continue;
    for (const int32_t word : read_.words(slot).last(keep)) again.push_back({slot, word});
    read_.clear(slot);
  }
  drop_unused(slots);
  if (!again.empty()) next(tape, again);
}

// Releases the rows of the caches that no text of `slots` has, if these are more than half.
void TransformerLanguageDecoder::drop_unused(std::span<const int32_t> slots) {
  int64_t used = 0;
  for (const int32_t slot : slots) used += read_.length(slot);
  if (caches_.empty() || 2 * used > caches_.front().rows()) return;
  const std::vector<int32_t> kept = read_.keep(slots);
  for (KeyValueCache& cache : caches_) cache.keep(kept);
}

}  // namespace nine
