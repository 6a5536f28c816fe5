// Reads words into a Transformer language model one by one, and keeps the keys and values of
// earlier words.
#pragma once

#include <vector>

#include "nn/key_value_cache.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

/// The decoder that TransformerLanguageModel::decoder() makes.
class TransformerLanguageDecoder final : public LanguageDecoder {
 public:
  TransformerLanguageDecoder(const TransformerLanguageModel& model, int64_t batch);

  void restart() override;
  Var next(Tape& tape, const Tensor& ids) override;

 private:
  Var step(Tape& tape, const Tensor& ids);
  void read_again(Tape& tape);

  const TransformerLanguageModel& model_;
  int64_t batch_;
  std::vector<KeyValueCache> caches_;  // one per layer
  std::vector<int32_t> words_;         // the words in the caches, row t * batch + b
};

}  // namespace nine
