// One layer of a Transformer's decoder.
#pragma once

#include <string>

#include "nn/transformer_encoder_layer.h"

namespace nine {

/// torch.nn.TransformerDecoderLayer: self-attention, attention to the encoder's output,
/// then a feed-forward network, each a residual branch with a norm. Parameters: `NAME.self_attn.*`,
/// `NAME.multihead_attn.*` (MultiHeadAttention), `NAME.linear1.*`, `NAME.linear2.*` (FeedForward),
/// `NAME.norm1.*`, `NAME.norm2.*`, `NAME.norm3.*`.
class TransformerDecoderLayer {
 public:
  TransformerDecoderLayer(ParameterSet& set, const std::string& name,
                          const TransformerLayerConfig& config);

  /// Maps x (batch * steps, size) to the same shape, with attention to memory (batch * source
  /// steps, size). `mask` is the mask of x (causal in a decoder), `memory_mask` that of the memory.
  Var operator()(const Var& x, const Var& memory, const AttentionMask& mask,
                 const AttentionMask& memory_mask) const;

 private:
  NormOrder norm_order_;
  double dropout_;
  MultiHeadAttention self_attn_, multihead_attn_;
  FeedForward feed_forward_;
  LayerNorm norm1_, norm2_, norm3_;
};

}  // namespace nine
