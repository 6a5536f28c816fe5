// A Transformer language model of GPT-2's shape (Radford et al., 2019): a decoder without encoder,
// pre-norm or post-norm (Vaswani et al., 2017; Xiong et al., 2020), and a kernel softmax.
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
  sinusoidal  ///< sinusoidal_positions
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
  NormOrder norm = NormOrder::pre;
  double dropout = 0.1;  ///< on embeddings with positions and at the end of residual branches
  double attention_dropout = 0;  ///< of attention's weights
  bool tie_embeddings = false;   ///< the head's word vectors are the embeddings
  HeadConfig head = {.bias = true};

  // In training only (docs/recipes.md):
  double dropout_words = 0;            ///< whole words of the vocabulary, on the embeddings
  double dropout_output = 0;           ///< on the final norm's output, before the head
  double activation_reg = 0;           ///< AR, as in LstmLanguageModelConfig
  double temporal_activation_reg = 0;  ///< TAR

  // Of models that other programs trained:
  std::optional<bool> final_norm =
      {};  ///< a norm behind the last layer; empty: where `norm` is pre
  /// Embeddings are multiplied by this; empty: by sqrt(hidden) with sinusoidal positions, else 1.
  std::optional<double> embed_scale = {};

  bool has_final_norm() const { return final_norm.value_or(norm == NormOrder::pre); }
  double embedding_factor() const;
  /// What shapes of tensors do not say, by its key in metadata and config.json: `arch`, `heads`,
  /// `bptt`, `activation`, `positions`, and where they are not the usual ones `norm` and
  /// `embed_scale`.
  std::map<std::string, std::string> settings() const;
};

/// Embedding, positions, layers, final norm and output layer, with the loss for training.
class TransformerLanguageModel final : public LanguageNetwork {
 public:
  /// Declares `embedding.weight` (V, hidden), `positions.weight` (window, hidden) where they are
  /// learned, `transformer.layers.N.*` and, pre-norm, `transformer.norm.*` as
  /// torch.nn.TransformerEncoder does, and the head's parameters (SoftmaxHead) in `set`. Starts as
  /// GPT-2: N(0, 0.02^2), positions N(0, 0.01^2), the last map of each residual branch N(0, 0.02^2
  /// / (2 layers)), biases 0; with sinusoidal positions the embeddings, which are scaled there, as
  /// N(0, 1 / hidden). Error: heads that do not divide the width; an odd width with sinusoidal
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
  Var normed(const Var& x) const { return norm_ ? (*norm_)(x) : x; }

  TransformerLanguageModelConfig config_;
  Embedding embedding_;
  Parameter* learned_positions_ = nullptr;
  std::vector<TransformerEncoderLayer> layers_;
  // After the layers, because parameters are in the order of their declaration.
  std::optional<LayerNorm> norm_;  // where there is one
  std::optional<SoftmaxHead> head_;
  // Computed at the first use, when the weights' type is known; several threads may come to it.
  mutable std::once_flag positions_made_;
  mutable Tensor sinusoidal_positions_;
};

}  // namespace nine
