#include "nn/models/transformer_language_decoder.h"

#include <algorithm>

namespace nine {

TransformerLanguageDecoder::TransformerLanguageDecoder(const TransformerLanguageModel& model,
                                                       int64_t batch)
    : model_(model), batch_(batch) {
  const TransformerLanguageModelConfig& c = model.config();
  for (int64_t i = 0; i < c.layers; ++i)
    caches_.emplace_back(batch, c.window, c.hidden, model.dtype(), model.device());
}

void TransformerLanguageDecoder::restart() {
  for (KeyValueCache& cache : caches_) cache.clear();
  words_.clear();
}

Var TransformerLanguageDecoder::next(Tape& tape, const Tensor& ids) {
  if (!caches_.empty() && caches_.front().length() == model_.config().window) read_again(tape);
  return step(tape, ids);
}

Var TransformerLanguageDecoder::step(Tape& tape, const Tensor& ids) {
  const int64_t place = std::ssize(words_) / batch_;
  words_.insert(words_.end(), ids.data<int32_t>(), ids.data<int32_t>() + batch_);
  Var x = model_.with_positions(model_.embed(tape, ids), place, 1, batch_);
  for (size_t i = 0; i < caches_.size(); ++i) x = model_.layers_[i].next(x, caches_[i]);
  return model_.normed(x);
}

// Handles a full window: its later half becomes the first half of a new window. Positions are
// counted from a window's beginning, so all its keys change.
void TransformerLanguageDecoder::read_again(Tape& tape) {
  const int64_t keep = model_.config().window / 2;
  const std::vector<int32_t> kept(words_.end() - keep * batch_, words_.end());
  restart();
  for (int64_t t = 0; t < keep; ++t)
    step(tape, Tensor::from(
                   std::vector<int32_t>(kept.begin() + t * batch_, kept.begin() + (t + 1) * batch_),
                   {1, batch_}));
}

}  // namespace nine
