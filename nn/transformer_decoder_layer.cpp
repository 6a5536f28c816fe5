#include "nn/transformer_decoder_layer.h"

namespace nine {

TransformerDecoderLayer::TransformerDecoderLayer(ParameterSet& set, const std::string& name,
                                                 const TransformerLayerConfig& c)
    : norm_order_(c.norm),
      dropout_(c.dropout),
      self_attn_(set, name + ".self_attn", c.size, c.heads, c.init, c.branch_init,
                 c.attention_dropout),
      multihead_attn_(set, name + ".multihead_attn", c.size, c.heads, c.init, c.branch_init,
                      c.attention_dropout),
      feed_forward_(set, name, c.size, c.inner, c.activation, c.init.value_or(LinearInit{}),
                    c.branch_init),
      norm1_(set, name + ".norm1", c.size),
      norm2_(set, name + ".norm2", c.size),
      norm3_(set, name + ".norm3", c.size) {}

Var TransformerDecoderLayer::operator()(const Var& x, const Var& memory, const AttentionMask& mask,
                                        const AttentionMask& memory_mask) const {
  const auto branch = [&](const Var& in, const LayerNorm& norm, auto&& add) {
    return residual_branch(norm_order_, in, norm, add);
  };
  Var y = branch(x, norm1_, [&](const Var& input, const Var& residual) {
    return self_attn_.add_to(residual, input, mask, dropout_);
  });
  y = branch(y, norm2_, [&](const Var& input, const Var& residual) {
    return multihead_attn_.add_to(residual, input, memory, memory_mask, dropout_);
  });
  return branch(y, norm3_, [&](const Var& input, const Var& residual) {
    return feed_forward_.add_to(residual, input, dropout_);
  });
}

}  // namespace nine
