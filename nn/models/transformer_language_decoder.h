// A Transformer language model that reads word by word: keys and values of earlier words are kept.
#pragma once

#include <vector>

#include "nn/key_value_cache.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

/// TransformerLanguageModel::decoder().
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
  std::vector<KeyValueCache> caches_;  // of each layer
  std::vector<int32_t> words_;         // read into the caches, row t * batch + b
};

}  // namespace nine
