// A Transformer language model of GPT-2's shape (Radford et al., 2019): a pre-norm decoder without
// encoder (Vaswani et al., 2017; Xiong et al., 2020) and a kernel softmax.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/models/language_network.h"
#include "nn/transformer_encoder_layer.h"

namespace nine {

/// What tells a Transformer where a word stands.
enum class Positions : uint8_t {
  learned,    ///< a table of vectors, `positions.weight`
  sinusoidal  ///< sinusoidal_positions; embeddings are then multiplied by sqrt(hidden)
};
template <>
inline constexpr EnumNames<Positions, 2> kEnumNames<Positions>{
    "positions", {{{Positions::learned, "learned"}, {Positions::sinusoidal, "sinusoidal"}}}};

/// Sizes and regularisation of a TransformerLanguageModel.
struct TransformerLanguageModelConfig {
  int64_t vocab = 0;
  int64_t layers = 2, hidden = 512;
  int64_t ffn = 2048;  ///< width of the feed-forward networks
  int64_t heads = 8;   ///< attention heads, which must divide `hidden`
  /// Positions: the most time steps that are read together. A longer text is read in windows, whose
  /// dropout masks are the same.
  int64_t window = 128;
  Activation activation = Activation::gelu;
  Positions positions = Positions::learned;
  double dropout = 0.1;  ///< on embeddings with positions and at the end of residual branches
  double attention_dropout = 0;  ///< of attention's weights
  bool tie_embeddings = false;   ///< the head's word vectors are the embeddings
  HeadConfig head = {.bias = true};

  // In training only (docs/recipes.md):
  double dropout_words = 0;            ///< whole words of the vocabulary, on the embeddings
  double dropout_output = 0;           ///< on the final norm's output, before the head
  double activation_reg = 0;           ///< AR, as in LstmLanguageModelConfig
  double temporal_activation_reg = 0;  ///< TAR
};

/// Embedding, positions, layers, final norm and output layer, with the loss for training.
class TransformerLanguageModel final : public LanguageNetwork {
 public:
  /// Declares `embedding.weight` (V, hidden), `positions.weight` (window, hidden) where they are
  /// learned, `transformer.layers.N.*` and `transformer.norm.*` as torch.nn.TransformerEncoder
  /// does, and the head's parameters (SoftmaxHead) in `set`. Starts as GPT-2: N(0, 0.02^2),
  /// positions N(0, 0.01^2), the last map of each residual branch N(0, 0.02^2 / (2 layers)), biases
  /// 0; with sinusoidal positions the embeddings, which are scaled there, as N(0, 1 /
  /// hidden). Error: heads that do not divide the width; an odd width with sinusoidal
  /// positions.
  TransformerLanguageModel(ParameterSet& set, const TransformerLanguageModelConfig& config);

  const TransformerLanguageModelConfig& config() const { return config_; }
  const SoftmaxHead& head() const override { return *head_; }

  /// `state` has nothing in it.
  Hidden run(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const override;
  CarriedState new_state(int64_t batch) const override { return {0, batch, 0, dtype(), device()}; }
  std::vector<LstmState> start_state(Tape&, int64_t) const override { return {}; }
  int64_t window() const override { return config_.window; }
  /// Keys and values of earlier words are kept. After as many words as the window has, the later
  /// half of it is read again, as SegmentReader does.
  std::unique_ptr<LanguageDecoder> decoder(int64_t batch) const override;
  std::vector<double> attention(Tape& tape, const std::vector<int32_t>& ids) const override;
  std::map<std::string, std::string> metadata() const override;

 private:
  friend class TransformerLanguageDecoder;
  Var embed(Tape& tape, const Tensor& ids) const;
  Var with_positions(const Var& x, int64_t first, int64_t steps, int64_t batch) const;
  Var window_of(Tape& tape, const Tensor& ids) const;

  TransformerLanguageModelConfig config_;
  Embedding embedding_;
  Parameter* learned_positions_ = nullptr;
  std::vector<TransformerEncoderLayer> layers_;
  // After the layers, because parameters are in the order of their declaration.
  std::optional<LayerNorm> norm_;
  std::optional<SoftmaxHead> head_;
  // Computed at the first use, when the weights' type is known; several threads may come to it.
  mutable std::once_flag positions_made_;
  mutable Tensor sinusoidal_positions_;
};

}  // namespace nine
