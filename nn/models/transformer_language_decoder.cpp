#include "nn/models/transformer_language_decoder.h"

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
}

Var TransformerLanguageDecoder::step(Tape& tape, std::span<const DecoderRow> rows) {
  const UsePacked use(tape, packed_);
  if (read_.length() == model_.config().window) read_again(tape, rows);
  return next(tape, rows);
}

Var TransformerLanguageDecoder::next(Tape& tape, std::span<const DecoderRow> rows) {
  const int64_t place = read_.length(), count = std::ssize(rows);
  const Tensor ids({1, count}, DType::int32);
  for (size_t r = 0; r < rows.size(); ++r) ids.data<int32_t>()[r] = rows[r].word;
  read_.read(rows);
  const KeyLists lists = read_.lists(tape);
  Var x = model_.with_positions(model_.embed(tape, ids), place, 1, count);
  for (size_t i = 0; i < caches_.size(); ++i)
    x = model_.layers_[i].next(x, caches_[i], lists, place);
  return model_.normed(x);
}

// Handles a full window: its later half becomes the first half of a new window. Positions are
// counted from a window's beginning, so all its keys change.
void TransformerLanguageDecoder::read_again(Tape& tape, std::span<const DecoderRow> rows) {
  const auto keep = static_cast<size_t>(model_.config().window / 2);
  std::vector<std::vector<DecoderRow>> steps(keep);
  for (const DecoderRow& row : rows) {
    const std::span<const int32_t> words = read_.words(row.slot).last(keep);
    for (size_t t = 0; t < keep; ++t) steps[t].push_back({row.slot, words[t]});
  }
  start(read_.slots());
  for (const std::vector<DecoderRow>& step : steps) next(tape, step);
}

}  // namespace nine
