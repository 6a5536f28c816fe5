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

/// The table of positions in model.safetensors, for other engines. It is no parameter.
inline constexpr const char* kPositionsName = "positions";

/// Sizes, dropout and ties of a Transformer.
struct TransformerConfig {
  int64_t src_vocab = 0, tgt_vocab = 0;  ///< words of each dictionary
  int64_t encoder_layers = 6, decoder_layers = 6;
  int64_t dim = 512;   ///< size of every position's vector (PyTorch's d_model)
  int64_t ffn = 1024;  ///< width of the feed-forward networks
  int64_t heads = 4;   ///< attention heads, which must divide `dim`
  /// On embeddings and at the end of residual branches; none on feed-forward activations.
  double dropout = 0.3;
  double attention_dropout = 0;  ///< of attention's weights
  NormOrder norm = NormOrder::post;
  bool shared_vocab = false;   ///< one embedding for both sides; one dictionary
  bool tie_embeddings = true;  ///< the head's word vectors are the decoder's embeddings
  HeadConfig head = {};
  int64_t max_length = 1024;  ///< positions of the longest sentence, </s> counted

  // Of models that other programs trained:
  std::optional<bool> final_norms =
      {};  ///< norms behind the last layers; empty: where `norm` is pre
  std::optional<double> embed_scale = {};  ///< of the embeddings; empty: sqrt(dim)

  bool has_final_norms() const { return final_norms.value_or(norm == NormOrder::pre); }
};

/// A micro-batch of B sentence pairs. Sentences begin at column 0 and are followed by padding, any
/// id of the dictionary.
struct TranslationBatch {
  Tensor src, tgt_in;  ///< ids (B, S) and (B, T), int32
  Tensor tgt_out;      ///< what each position of tgt_in predicts, (B, T) int32; -1: no target
  Tensor src_lengths, tgt_lengths;  ///< (B) int32
  int64_t tokens = 0;               ///< positions that predict something

  /// From ids in which sentences are padded with `pad`; positions where tgt_out is `pad` get no
  /// target.
  static TranslationBatch of_padded(const Tensor& src, const Tensor& tgt_in, const Tensor& tgt_out,
                                    int32_t pad);
};

/// Encoder, decoder and output layer, with the loss for training.
class Transformer {
 public:
  /// Declares `src_embedding.weight` (not with shared_vocab), `tgt_embedding.weight`,
  /// `transformer.encoder.*`, `transformer.decoder.*` and the head's parameters (SoftmaxHead) in
  /// `set`. Matrices start as U(-a, a), a = sqrt(6 / (in + out)) (Glorot & Bengio, 2010; the three
  /// of in_proj_weight as one, as in PyTorch, which is fairseq's gain of 1/sqrt 2), word vectors as
  /// N(0, 1 / dim), biases at 0, as in fairseq. Error: an odd width, one that the heads do not
  /// divide, a shared vocabulary of two sizes.
  Transformer(ParameterSet& set, const TransformerConfig& config);

  const TransformerConfig& config() const { return config_; }
  DType dtype() const { return parameters_.dtype(); }
  const ParameterSet& parameters() const { return parameters_; }

  /// The encoder's output for src ids (B, S): (B * S, dim), rows b * S + s.
  Var encode(Tape& tape, const Tensor& src, const Tensor& src_lengths) const;
  /// The decoder's output for tgt ids (B, T) over that memory: (B * T, dim), rows b * T + t.
  Var decode(const Var& memory, const Tensor& src_lengths, const Tensor& tgt_in,
             const Tensor& tgt_lengths) const;
  /// Loss of predicting targets (B, T) from the decoder's output; see kernel_softmax. Smoothed as
  /// configured, but not under NoGrad.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight) const {
    return head_->loss(hidden, targets, row_weight);
  }
  /// Encoder, decoder and loss of a batch.
  SoftmaxLoss loss(Tape& tape, const TranslationBatch& batch, double row_weight) const;

  /// share times the penalty on the norms of the head's word vectors; an empty Var where none is
  /// configured, or under NoGrad.
  Var regulariser(Tape& tape, double share) const { return head_->norm_regulariser(tape, share); }
  /// The head's parameters, for how they start (SoftmaxHead).
  const SoftmaxHead& head() const { return *head_; }

  /// What is added to scaled embeddings, (max_length, dim): sinusoidal_positions, unless
  /// use_positions() was called.
  const Tensor& positions() const;
  /// Has `table` (max_length, dim), of any floating type, on the CPU, added in place of
  /// sinusoidal_positions: that which the weights were trained with. Before the first use of
  /// positions(). Error: its shape is another.
  void use_positions(const Tensor& table);
  /// Embeddings are multiplied by this.
  double embed_scale() const;

  /// model.safetensors' `__metadata__`: the format, and the ties where there are any.
  std::map<std::string, std::string> metadata() const;

 private:
  Var embed(Tape& tape, Parameter& table, const Tensor& ids, std::string_view stream) const;

  TransformerConfig config_;
  const ParameterSet& parameters_;
  Parameter *src_embedding_, *tgt_embedding_;
  std::vector<TransformerEncoderLayer> encoder_;
  std::vector<TransformerDecoderLayer> decoder_;
  std::optional<LayerNorm> encoder_norm_, decoder_norm_;
  // After the layers, because parameters are in the order of their declaration.
  std::optional<SoftmaxHead> head_;
  // Computed at the first use, when the weights' type is known; several threads may come to it.
  mutable std::once_flag positions_made_;
  mutable Tensor positions_;
};

}  // namespace nine
