// One layer of a Transformer's encoder.
#pragma once

#include <optional>
#include <string>

#include "nn/feed_forward.h"
#include "nn/multi_head_attention.h"
#include "nn/transformer_style.h"

namespace nine {

/// The settings of encoder and decoder layers.
struct TransformerLayerConfig {
  int64_t size = 512;            ///< size of every position's vector (PyTorch's d_model)
  int64_t heads = 8;             ///< attention heads; must divide `size`
  int64_t inner = 2048;          ///< width of the feed-forward network (PyTorch's dim_feedforward)
  double dropout = 0;            ///< at the end of each residual branch
  double attention_dropout = 0;  ///< of the attention weights
  TransformerStyle style = {};
  /// The positions in the layers' attention; all layers of a model share one object. null:
  /// attention has no positions, whatever style.positions is.
  std::shared_ptr<const AttentionPositions> positions = nullptr;
  std::optional<LinearInit> init = {};  ///< of all linear maps; empty: as in torch.nn
  /// Initial values of the last map of each residual branch; empty: `init`.
  std::optional<LinearInit> branch_init = {};

  /// Sets `positions` to the kind of style.positions, for positions below `count`; null for kinds
  /// that are added to embeddings. Reads `size`, `heads` and `style`. Error: heads of an odd size
  /// with rotary positions.
  void make_positions(int64_t count);
  /// Returns the settings of an attention of the layer. own: true for self-attention; false for
  /// attention to the encoder's output, which has no `positions`.
  AttentionStyle attention_style(bool own) const {
    return {.kv_heads = style.kv_heads,
            .qk_norm = style.qk_norm,
            .norm_eps = style.layer_norm_eps,
            .bias = style.linear_bias,
            .positions = own ? positions : nullptr};
  }
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
  /// MultiHeadAttention::add_next_to, also for `places`.
  Var next(const Var& x, KeyValueCache& cache, const KeyLists& lists,
           const RowPlaces& places = {}) const;
  /// Returns an empty cache for next().
  KeyValueCache new_cache(DType dtype, Device device) const {
    return self_attn_.new_cache(dtype, device);
  }
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
  Norm norm1_, norm2_;
};

}  // namespace nine
