// Reads words into a Transformer language model one by one, and keeps the keys and values of
// earlier words.
#pragma once

#include <vector>

#include "autograd/packed_weights.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

/// The decoder that TransformerLanguageModel::decoder() makes. It packs the weights.
class TransformerLanguageDecoder final : public StepDecoder {
 public:
  explicit TransformerLanguageDecoder(const TransformerLanguageModel& model);

  void start(int64_t slots) override;
  void begin(Tape& tape, int32_t slot) override;
  Var step(Tape& tape, std::span<const DecoderRow> rows) override;
  void reorder(std::span<const int32_t> from) override { read_.reorder(from); }
  bool mixes_counts() const override { return true; }

 private:
  int64_t window() const { return model_.config().window; }
  bool fits(std::span<const DecoderRow> rows) const;
  Var next(Tape& tape, std::span<const DecoderRow> rows);
  Var in_parts(Tape& tape, std::span<const DecoderRow> rows);
  void read_again(Tape& tape, std::span<const int32_t> slots);
  void drop_unused(std::span<const int32_t> slots);

  const TransformerLanguageModel& model_;
  PackedWeights packed_;
  std::vector<KeyValueCache> caches_;  // one per layer
  ReadWords read_;                     // the words in the caches
  bool begun_ = false;                 // a text has begun since the last step
};

}  // namespace nine
