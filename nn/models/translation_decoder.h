// Reads translations word by word into a Transformer, and keeps the keys and values of earlier
// words and of the sources.
#pragma once

#include <vector>

#include "nn/models/step_decoder.h"
#include "nn/models/transformer.h"

namespace nine {

/// A StepDecoder for a translation model. Reordering moves no keys (ReadWords). On the CPU rows are
/// computed independently: a row's bits do not depend on the other rows.
class TranslationDecoder final : public StepDecoder {
 public:
  /// `packed` may have copies of the model's weights (Transformer::pack). Both must outlive the
  /// decoder.
  TranslationDecoder(const Transformer& model, const PackedWeights& packed);

  /// Reads source sentences of ids (with </s>). Resets the tape. Errors: an id outside of the
  /// dictionary; a sentence longer than the model's positions.
  void encode(Tape& tape, std::span<const std::vector<int32_t>> sources);
  /// Lets translations begin, as many for each source: those of source s have the slots s * n ...
  /// (s + 1) * n - 1, with n = slots / sources.
  void start(int64_t slots) override;
  /// Each slot has one row, and all slots have read equally many words.
  Var step(Tape& tape, std::span<const DecoderRow> rows) override;
  void reorder(std::span<const int32_t> from) override { read_.reorder(from); }

  /// Returns the words that each slot has read.
  const ReadWords& read() const { return read_; }
  /// Makes step() keep its attention weights, for attention().
  void keep_attention(bool on) { keep_attention_ = on; }
  /// Call after step(). Returns the last layer's attention weights of one row, as the mean over
  /// heads: one weight for each word of the row's source.
  std::span<const float> attention(int64_t row) const;

 private:
  const Transformer& model_;
  const PackedWeights& packed_;
  std::vector<TransformerDecoderLayer::Cache> caches_;  // one per layer
  ReadWords read_;
  Tensor source_rows_;                   // 0, 1, ...: lists of source words are ranges of it
  std::vector<int32_t> first_, counts_;  // of each source: its rows
  int64_t slots_of_source_ = 1, longest_ = 0;
  bool keep_attention_ = false;
  std::vector<float> attention_;    // (rows of the last step, longest_)
  std::vector<int32_t> source_of_;  // of each row of the last step
};

}  // namespace nine
