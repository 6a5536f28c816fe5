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

  /// The state of decoding: keys and values of the words read so far, and of the memory's rows.
  struct Cache {
    KeyValueCache words, memory;
  };
  /// Returns an empty state.
  Cache new_cache(DType dtype, Device device) const {
    return {self_attn_.new_cache(dtype, device), multihead_attn_.new_cache(dtype, device)};
  }
  /// Stores the keys and values of memory (rows, size), for next().
  void store(const Var& memory, Cache& cache) const { multihead_attn_.store(memory, cache.memory); }
  /// Computes the layer for the next word of some texts: x (rows, size) to the same shape. A row
  /// attends to the listed words, those of x included, and to the listed rows of the memory. Writes
  /// the weights of the memory's rows to `weights`; see MultiHeadAttention::add_seen_to. All rows
  /// of x are at position `place`; see MultiHeadAttention::add_next_to.
  Var next(const Var& x, Cache& cache, const KeyLists& words, const KeyLists& memory,
           const Tensor& weights = {}, int64_t place = 0) const;
  /// Adds packed copies of the weights; see Linear::pack.
  void pack(PackedWeights& packed) const;

 private:
  // Computes the layer with self(input, residual) and cross(input, residual) as its attentions.
  template <class Self, class Cross>
  Var with(const Var& x, double dropout, Self&& self, Cross&& cross) const;

  NormOrder norm_order_;
  double dropout_;
  MultiHeadAttention self_attn_, multihead_attn_;
  FeedForward feed_forward_;
  Norm norm1_, norm2_, norm3_;
};

}  // namespace nine
