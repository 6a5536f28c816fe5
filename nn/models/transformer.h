// The paper's translation model: a Transformer encoder-decoder (Vaswani et al., 2017) with a kernel
// softmax as its output layer (Gao et al., 2019, section 4.2), with torch.nn.Transformer's
// parameter names and layout.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/softmax_head.h"
#include "nn/transformer_decoder_layer.h"
#include "nn/transformer_encoder_layer.h"

namespace nine {

/// The name of the positions' table in model.safetensors. The table is not a parameter. Files hold
/// it, and programs that open the model use its rows unchanged.
inline constexpr const char* kPositionsName = "positions";

/// The settings of a Transformer.
struct TransformerConfig {
  int64_t src_vocab = 0, tgt_vocab = 0;  ///< words of each dictionary
  int64_t encoder_layers = 6, decoder_layers = 6;
  int64_t dim = 512;   ///< size of every position's vector (PyTorch's d_model)
  int64_t ffn = 1024;  ///< width of the feed-forward networks
  int64_t heads = 4;   ///< attention heads; must divide `dim`
  /// On embeddings and at the end of residual branches, but not on feed-forward activations.
  double dropout = 0.3;
  double attention_dropout = 0;  ///< of the attention weights
  TransformerStyle style = {};   ///< positions must not be learned
  bool shared_vocab = false;     ///< true: both sides share one dictionary and one embedding
  bool tie_embeddings = true;    ///< true: the head's word vectors are the decoder's embeddings
  HeadConfig head = {};
  int64_t max_length = 1024;  ///< positions of the longest sentence, </s> included
  bool recompute = false;     ///< in training: see TransformerLanguageModelConfig

  // For models that other programs trained:
  /// A norm after the last layer of encoder and decoder. Empty: true if `style.norm` is pre.
  std::optional<bool> final_norms = {};
  std::optional<double> embed_scale = {};  ///< of the embeddings; empty: sqrt(dim)

  /// Returns the value of the metadata's key `tied`, which names the tensors that share one table:
  /// "src_embedding.weight=tgt_embedding.weight", ... Empty without ties.
  std::string ties() const;
  bool has_final_norms() const { return final_norms.value_or(style.norm == NormOrder::pre); }
};

/// A micro-batch of B sentence pairs, each tensor on the CPU or the model's device. Sentences begin
/// at column 0; any id of the dictionary may serve as padding after them. BeamSearch expects a
/// model that was trained on these rows: src is the words and </s>, tgt_in is </s> and the words,
/// tgt_out is the words and </s>.
struct TranslationBatch {
  Tensor src, tgt_in;  ///< ids (B, S) and (B, T), int32
  Tensor tgt_out;      ///< the target of each position of tgt_in, (B, T) int32; -1: no target
  Tensor src_lengths, tgt_lengths;  ///< (B) int32
  int64_t tokens = 0;               ///< number of positions that have a target
  Tensor factors = {};  ///< (B, T) float64: the factor of each position's loss; empty: 1

  /// Makes a batch from ids on the CPU that are padded with `pad`. Positions whose tgt_out is `pad`
  /// get no target.
  static TranslationBatch of_padded(const Tensor& src, const Tensor& tgt_in, const Tensor& tgt_out,
                                    int32_t pad);
};

/// Encoder, decoder and output layer, with the loss for training.
class Transformer {
 public:
  /// Declares `src_embedding.weight` (not with shared_vocab), `tgt_embedding.weight`,
  /// `transformer.encoder.*`, `transformer.decoder.*` and the head's parameters (SoftmaxHead) in
  /// `set`. Initial values are fairseq's. Matrices: U(-a, a), a = sqrt(6 / (in + out)) (Glorot &
  /// Bengio, 2010). in_proj_weight counts as one matrix (3 dim, dim), as in PyTorch; fairseq has
  /// three matrices and multiplies their a by 1/sqrt 2, which gives the same a. Word vectors: N(0,
  /// 1 / dim). Biases: 0.
  /// Errors: an odd width with sinusoidal positions; heads that do not divide the width; heads of
  /// an odd size with rotary positions; shared_vocab with src_vocab != tgt_vocab; learned
  /// positions.
  Transformer(ParameterSet& set, const TransformerConfig& config);

  const TransformerConfig& config() const { return config_; }
  DType dtype() const { return parameters_.dtype(); }
  Device device() const { return parameters_.device(); }
  const ParameterSet& parameters() const { return parameters_; }

  /// Returns the encoder's output for src ids (B, S): (B * S, dim), row b * S + s. Error: S is
  /// above max_length.
  Var encode(Tape& tape, const Tensor& src, const Tensor& src_lengths) const;
  /// Returns the decoder's output for tgt ids (B, T): (B * T, dim), row b * T + t. `memory` is the
  /// result of encode(). Error: T is above max_length.
  Var decode(const Var& memory, const Tensor& src_lengths, const Tensor& tgt_in,
             const Tensor& tgt_lengths) const;
  /// Computes the loss of predicting targets (B, T) from the decoder's output; see kernel_softmax.
  /// Applies label smoothing as configured, but not under NoGrad.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight,
                   const Tensor& factors = {}) const {
    return head_->loss(hidden, targets, row_weight, factors);
  }
  /// Runs encoder and decoder on a batch and computes the loss.
  SoftmaxLoss loss(Tape& tape, const TranslationBatch& batch, double row_weight) const;

  /// Computes share times the penalty on the norms of the head's word vectors. Returns an empty Var
  /// if no penalty is configured, or under NoGrad.
  Var regulariser(Tape& tape, double share) const { return head_->norm_regulariser(tape, share); }
  /// Returns the output layer.
  const SoftmaxHead& head() const { return *head_; }

  /// Returns the table that is added to scaled embeddings, (max_length, dim): sinusoidal_positions,
  /// or the table of use_positions(). Empty with rotary positions, which are in the layers.
  const Tensor& positions() const;
  /// Adds `table` (max_length, dim), of any floating type, on the CPU, to embeddings instead of
  /// sinusoidal_positions. `table` must be the one that the weights were trained with. Call it
  /// before the first use of positions(); a later call has no effect. Error: another shape.
  void use_positions(const Tensor& table);
  /// Returns the factor of the embeddings.
  double embed_scale() const;

  /// Returns model.safetensors' `__metadata__`: the format, the heads, the choices of the layers
  /// (StyleSetting), and the ties if there are any.
  std::map<std::string, std::string> metadata() const;

  /// Adds packed copies of the layers' weights, for a TranslationDecoder.
  void pack(PackedWeights& packed) const;

 private:
  friend class TranslationDecoder;
  // Embeds ids (sentences, words) at positions from `first` on.
  Var embed(Tape& tape, Parameter& table, const Tensor& ids, std::string_view stream,
            int64_t first = 0) const;

  TransformerConfig config_;
  const ParameterSet& parameters_;
  Parameter *src_embedding_, *tgt_embedding_;
  std::vector<TransformerEncoderLayer> encoder_;
  std::vector<TransformerDecoderLayer> decoder_;
  std::optional<Norm> encoder_norm_, decoder_norm_;
  // Declared after the layers, because parameters have the order of their declaration.
  std::optional<SoftmaxHead> head_;
  // Computed at the first use, when the weights' type is known. Several threads may reach it at
  // once.
  mutable std::once_flag positions_made_;
  mutable Tensor positions_;
};

}  // namespace nine
