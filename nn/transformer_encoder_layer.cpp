#include "nn/transformer_encoder_layer.h"

#include "nn/rotary_angles.h"

namespace nine {

void TransformerLayerConfig::make_positions(int64_t count) {
  positions = nullptr;
  if (style.positions == Positions::rotary)
    positions = std::make_shared<RotaryAngles>(count, size / heads, style.rotary_base,
                                               style.rotary_scaling);
}

TransformerEncoderLayer::TransformerEncoderLayer(ParameterSet& set, const std::string& name,
                                                 const TransformerLayerConfig& c)
    : norm_order_(c.style.norm),
      dropout_(c.dropout),
      self_attn_(set, name + ".self_attn", c.size, c.heads, c.init, c.branch_init,
                 c.attention_dropout, c.attention_style(true)),
      feed_forward_(set, name, c.size, c.inner, c.style.activation, c.init.value_or(LinearInit{}),
                    c.branch_init, c.style.linear_bias),
      norm1_(set, name + ".norm1", c.size, c.style.norm_type, c.style.layer_norm_eps),
      norm2_(set, name + ".norm2", c.size, c.style.norm_type, c.style.layer_norm_eps) {}

template <class Attend>
Var TransformerEncoderLayer::with(const Var& x, double dropout, Attend&& attend) const {
  const Var y = residual_branch(norm_order_, x, norm1_, attend);
  return residual_branch(norm_order_, y, norm2_, [&](const Var& input, const Var& residual) {
    return feed_forward_.add_to(residual, input, dropout);
  });
}

Var TransformerEncoderLayer::operator()(const Var& x, const AttentionMask& mask) const {
  return with(x, dropout_, [&](const Var& input, const Var& residual) {
    return self_attn_.add_to(residual, input, mask, dropout_);
  });
}

Var TransformerEncoderLayer::next(const Var& x, KeyValueCache& cache, const KeyLists& lists,
                                  const RowPlaces& places) const {
  return with(x, 0, [&](const Var& input, const Var& residual) {
    return self_attn_.add_next_to(residual, input, cache, lists, places);
  });
}

void TransformerEncoderLayer::pack(PackedWeights& packed) const {
  self_attn_.pack_self(packed);
  feed_forward_.pack(packed);
}

}  // namespace nine
