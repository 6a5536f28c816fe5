// One layer of a Transformer's encoder.
#pragma once

#include <optional>
#include <string>

#include "nn/feed_forward.h"
#include "nn/multi_head_attention.h"
#include "nn/norm_order.h"

namespace nine {

/// The settings of encoder and decoder layers.
struct TransformerLayerConfig {
  int64_t size = 512;            ///< size of every position's vector (PyTorch's d_model)
  int64_t heads = 8;             ///< attention heads; must divide `size`
  int64_t inner = 2048;          ///< width of the feed-forward network (PyTorch's dim_feedforward)
  double dropout = 0;            ///< at the end of each residual branch
  double attention_dropout = 0;  ///< of the attention weights
  NormOrder norm = NormOrder::post;
  Activation activation = Activation::relu;
  std::optional<LinearInit> init = {};  ///< of all linear maps; empty: as in torch.nn
  /// Initial values of the last map of each residual branch; empty: `init`.
  std::optional<LinearInit> branch_init = {};
};

/// torch.nn.TransformerEncoderLayer: self-attention, then a feed-forward network, each a
/// residual branch with a norm. Parameters: `NAME.self_attn.*` (MultiHeadAttention),
/// `NAME.linear1.*`, `NAME.linear2.*` (FeedForward), `NAME.norm1.*`, `NAME.norm2.*`.
class TransformerEncoderLayer {
 public:
  TransformerEncoderLayer(ParameterSet& set, const std::string& name,
                          const TransformerLayerConfig& config);

  /// Maps x (batch * steps, size) to the same shape.
  Var operator()(const Var& x, const AttentionMask& mask) const;
  /// Computes the layer for the next word of some texts: x (rows, size) to the same shape. A row
  /// attends to the listed rows of `cache`, which gets the keys and values of x first; see
  /// MultiHeadAttention::add_next_to.
  Var next(const Var& x, KeyValueCache& cache, const KeyLists& lists) const;
  /// Adds packed copies of the weights; see Linear::pack.
  void pack(PackedWeights& packed) const;
  /// Returns MultiHeadAttention::weights for the layer's input x (steps, size).
  Var attention_weights(const Var& x) const {
    return self_attn_.weights(norm_order_ == NormOrder::pre ? norm1_(x) : x);
  }

 private:
  // Computes the layer with attend(input, residual) as its attention.
  template <class Attend>
  Var with(const Var& x, double dropout, Attend&& attend) const;

  NormOrder norm_order_;
  double dropout_;
  MultiHeadAttention self_attn_;
  FeedForward feed_forward_;
  LayerNorm norm1_, norm2_;
};

}  // namespace nine
