// The paper's translation model: a Transformer encoder-decoder (Vaswani et al., 2017) under a
// kernel softmax (Gao et al., 2019, section 4.2), with torch.nn.Transformer's parameter names and
// layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "nn/layers.h"
#include "nn/softmax_head.h"

namespace nine {

/// Where layer norms stand: behind each residual sum (Vaswani et al., 2017), or before each branch,
/// with one more at the end of encoder and decoder (Xiong et al., 2020).
enum class NormOrder : uint8_t { post, pre };
template <>
inline constexpr EnumNames<NormOrder, 2> kEnumNames<NormOrder>{
    "norm order", {{{NormOrder::post, "post"}, {NormOrder::pre, "pre"}}}};

/// The table of positions in model.safetensors, which other engines read (formats.md, "Translation
/// checkpoints"): no parameter.
inline constexpr const char* kPositionsName = "positions";

struct TransformerConfig {
  int64_t src_vocab = 0, tgt_vocab = 0;
  int64_t encoder_layers = 6, decoder_layers = 6;
  int64_t dim = 512, ffn = 1024, heads = 4;
  double dropout = 0.3;  ///< on embeddings and residual branches; none on attention weights and
                         ///< feed-forward activations
  NormOrder norm = NormOrder::post;
  bool shared_vocab = false;   ///< one embedding for both sides; one dictionary
  bool tie_embeddings = true;  ///< the head's word vectors are the decoder's embeddings
  HeadConfig head = {};
  int64_t max_length = 1024;  ///< positions that there are numbers for
};

/// A micro-batch of B sentence pairs. Sentences begin at column 0; what follows them is padding,
/// any id of the dictionary.
struct TranslationBatch {
  Tensor src, tgt_in;  ///< ids (B, S) and (B, T), int32
  Tensor tgt_out;      ///< what each position of tgt_in predicts, (B, T) int32; -1: nothing
  Tensor src_lengths, tgt_lengths;  ///< (B) int32
  int64_t tokens = 0;               ///< positions that predict something

  /// Of ids in which `pad` fills up sentences (formats.md, "Parity export"); tgt_out predicts
  /// nothing where it is `pad`.
  static TranslationBatch of_padded(const Tensor& src, const Tensor& tgt_in, const Tensor& tgt_out,
                                    int32_t pad);
};

class Transformer {
 public:
  /// Declares `src_embedding.weight` (not with shared_vocab), `tgt_embedding.weight`,
  /// `transformer.encoder.*`, `transformer.decoder.*` and the head's parameters (SoftmaxHead) in
  /// `set`. Matrices start as U(-a, a), a = sqrt(6 / (in + out)) (Glorot & Bengio, 2010; the three
  /// of in_proj_weight as one, as in PyTorch, which is fairseq's gain of 1/sqrt 2), word vectors as
  /// N(0, 1/sqrt(dim)), biases at 0, as in fairseq. Error: an odd width, one that the heads do not
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
  /// All three.
  SoftmaxLoss loss(Tape& tape, const TranslationBatch& batch, double row_weight) const;

  /// share times the penalty on the norms of the head's word vectors; an empty Var where none is
  /// asked for, or under NoGrad.
  Var regulariser(Tape& tape, double share) const { return head_->norm_regulariser(tape, share); }
  /// The head's parameters, for how they start (SoftmaxHead).
  const SoftmaxHead& head() const { return *head_; }

  /// What is added to scaled embeddings, (max_length, dim): sin(t f_i) in column i, cos(t f_i) in
  /// column dim/2 + i, f_i = 10000^(-2 i / dim) (Vaswani et al., 2017, section 3.5, columns grouped
  /// as in fairseq).
  const Tensor& positions() const;
  /// Embeddings are multiplied by this, sqrt(dim).
  double embed_scale() const;

  /// What model.safetensors' `__metadata__` says: the ties, where there are any.
  std::map<std::string, std::string> metadata() const;

 private:
  // A linear map.
  struct Affine {
    Affine(ParameterSet& set, const std::string& name, int64_t in, int64_t out);
    Parameter &w, &b;
  };
  struct Attention {
    Attention(ParameterSet& set, const std::string& name, int64_t dim);
    Parameter &in_w, &in_b;  // queries, keys, values
    Affine out;
    std::string stream;  // of the residual branch's dropout
  };
  struct FeedForward {
    FeedForward(ParameterSet& set, const std::string& name, int64_t dim, int64_t ffn);
    Affine first, second;
    std::string stream;
  };
  struct EncoderLayer {
    EncoderLayer(ParameterSet& set, const std::string& name, const TransformerConfig& c);
    Attention self;
    FeedForward feed;
    LayerNorm norm1, norm2;
  };
  struct DecoderLayer {
    DecoderLayer(ParameterSet& set, const std::string& name, const TransformerConfig& c);
    Attention self, cross;
    FeedForward feed;
    LayerNorm norm1, norm2, norm3;
  };

  Var embed(Tape& tape, Parameter& table, const Tensor& ids, std::string_view stream) const;
  // One residual branch with its norm: `branch` maps an input and a residual to residual +
  // dropout(f(input)).
  template <class Branch>
  Var residual(const Var& x, const LayerNorm& norm, Branch&& branch) const;
  Var self_attention(const Var& x, const Attention& a, const LayerNorm& norm,
                     const AttentionShape& shape) const;
  Var cross_attention(const Var& x, const Var& memory, const Attention& a, const LayerNorm& norm,
                      const AttentionShape& shape) const;
  Var feed_forward(const Var& x, const FeedForward& f, const LayerNorm& norm) const;

  TransformerConfig config_;
  const ParameterSet& parameters_;
  Parameter *src_embedding_, *tgt_embedding_;
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
  std::optional<LayerNorm> encoder_norm_, decoder_norm_;
  std::optional<SoftmaxHead>
      head_;                  // behind the layers: parameters are in the order of their declaration
  mutable Tensor positions_;  // made when first asked for: the weights' type is known then
};

}  // namespace nine
