#include "nn/transformer_encoder_layer.h"

namespace nine {

TransformerEncoderLayer::TransformerEncoderLayer(ParameterSet& set, const std::string& name,
                                                 const TransformerLayerConfig& c)
    : norm_order_(c.norm),
      dropout_(c.dropout),
      self_attn_(set, name + ".self_attn", c.size, c.heads, c.init, c.branch_init,
                 c.attention_dropout),
      feed_forward_(set, name, c.size, c.inner, c.activation, c.init.value_or(LinearInit{}),
                    c.branch_init),
      norm1_(set, name + ".norm1", c.size),
      norm2_(set, name + ".norm2", c.size) {}

Var TransformerEncoderLayer::operator()(const Var& x, const AttentionMask& mask) const {
  const Var y = residual_branch(norm_order_, x, norm1_, [&](const Var& input, const Var& residual) {
    return self_attn_.add_to(residual, input, mask, dropout_);
  });
  return residual_branch(norm_order_, y, norm2_, [&](const Var& input, const Var& residual) {
    return feed_forward_.add_to(residual, input, dropout_);
  });
}

Var TransformerEncoderLayer::next(const Var& x, KeyValueCache& cache) const {
  const Var y = residual_branch(norm_order_, x, norm1_, [&](const Var& input, const Var& residual) {
    return self_attn_.add_next_to(residual, input, cache);
  });
  return residual_branch(norm_order_, y, norm2_, [&](const Var& input, const Var& residual) {
    return feed_forward_.add_to(residual, input, 0);
  });
}

}  // namespace nine
