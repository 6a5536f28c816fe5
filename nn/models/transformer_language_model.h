// A Transformer language model like GPT-2 (Radford et al., 2019) or Llama (Touvron et al., 2023): a
// decoder without an encoder, with a kernel softmax.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/embedding.h"
#include "nn/models/language_network.h"
#include "nn/transformer_encoder_layer.h"
#include "nn/transformer_style.h"

namespace nine {

/// The settings of a TransformerLanguageModel.
struct TransformerLanguageModelConfig {
  int64_t vocab = 0;
  int64_t layers = 2, hidden = 512;
  int64_t ffn = 2048;  ///< width of the feed-forward networks
  int64_t heads = 8;   ///< attention heads; must divide `hidden`
  /// The most time steps that are read together. run() cuts a longer text into windows. In one call
  /// of run(), all windows share the dropout masks of embeddings and layers.
  int64_t window = 128;
  TransformerStyle style = TransformerStyle::gpt2();
  double dropout = 0.1;  ///< on embeddings with positions and at the end of residual branches
  double attention_dropout = 0;  ///< of the attention weights
  bool tie_embeddings = false;   ///< true: the head's word vectors are the embeddings
  /// Standard deviation of the initial values of the layers' linear maps; 0: 1 / sqrt(hidden).
  double init_std = 0.02;
  HeadConfig head = {.bias = true};

  // For training only (docs/recipes.md):
  bool recompute = false;  ///< activations of a layer are computed again in the backward pass
  /// Probability that a micro-batch drops a word: its embedding is 0 wherever the word occurs.
  double dropout_words = 0;
  double dropout_output = 0;           ///< on the final norm's output, before the head
  double activation_reg = 0;           ///< AR, as in LstmLanguageModelConfig
  double temporal_activation_reg = 0;  ///< TAR

  // For models that other programs trained:
  /// A norm after the last layer. Empty: true if `style.norm` is pre.
  std::optional<bool> final_norm = {};
  /// Multiplies the embeddings; empty: sqrt(hidden) with sinusoidal positions, else 1.
  std::optional<double> embed_scale = {};

  bool has_final_norm() const { return final_norm.value_or(style.norm == NormOrder::pre); }
  double embedding_factor() const;
  /// Returns the settings that do not follow from the tensors' shapes, by their keys in metadata
  /// and config.json: `arch` (the kind of network), `heads`, `bptt` (the window), `activation`,
  /// `positions` and, if they differ from the defaults, the others of style_settings() and
  /// `embed_scale`.
  std::map<std::string, std::string> settings() const;
};

/// Embedding, positions, layers, final norm and output layer, with the loss for training.
class TransformerLanguageModel final : public LanguageNetwork {
 public:
  /// Declares in `set`: `embedding.weight` (V, hidden), `positions.weight` (window, hidden) for
  /// learned positions, `transformer.layers.N.*` and, with pre-norm, `transformer.norm.*` as
  /// torch.nn.TransformerEncoder does, and the head's parameters (SoftmaxHead). Initial values are
  /// GPT-2's: word vectors N(0, 0.02^2), positions N(0, 0.01^2), linear maps N(0, s^2) with s =
  /// init_std, the last map of each residual branch N(0, s^2 / (2 layers)), biases 0. With
  /// sinusoidal positions, which scale the embeddings, the embeddings start as N(0, 1 / hidden).
  /// Errors: heads that do not divide the width; an odd width with sinusoidal positions; heads of
  /// an odd size with rotary positions; a window below 1.
  TransformerLanguageModel(ParameterSet& set, const TransformerLanguageModelConfig& config);

  const TransformerLanguageModelConfig& config() const { return config_; }
  const SoftmaxHead& head() const override { return *head_; }

  /// `state` must be empty.
  Hidden run(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const override;
  CarriedState new_state(int64_t batch) const override { return {0, batch, 0, dtype(), device()}; }
  std::vector<LstmState> start_state(Tape&, int64_t) const override { return {}; }
  int64_t window() const override { return config_.window; }
  /// Makes a decoder that keeps the keys and values of earlier words. When a text's window is full,
  /// the decoder reads its last window / 2 words again, as the start of a new window.
  std::unique_ptr<StepDecoder> decoder() const override;
  std::vector<double> attention(Tape& tape, const std::vector<int32_t>& ids) const override;
  std::map<std::string, std::string> metadata() const override;

 private:
  friend class TransformerLanguageDecoder;
  Var embed(Tape& tape, const Tensor& ids) const;
  Var with_positions(const Var& x, int64_t first, int64_t steps, int64_t batch) const;
  Var with_positions(const Var& x, const RowPlaces& places) const;
  Var position_table(Tape& tape) const;
  Var window_of(Tape& tape, const Tensor& ids) const;
  Var normed(const Var& x) const { return norm_ ? (*norm_)(x) : x; }

  TransformerLanguageModelConfig config_;
  Embedding embedding_;
  Parameter* learned_positions_ = nullptr;
  std::vector<TransformerEncoderLayer> layers_;
  // Declared after the layers, because parameters have the order of their declaration.
  std::optional<Norm> norm_;  // null without a final norm
  std::optional<SoftmaxHead> head_;
  // Computed at the first use, when the weights' type is known. Several threads may reach it at
  // once.
  mutable std::once_flag positions_made_;
  mutable Tensor sinusoidal_positions_;
};

}  // namespace nine
