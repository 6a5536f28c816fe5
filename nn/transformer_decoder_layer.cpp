#include "nn/transformer_decoder_layer.h"

namespace nine {

TransformerDecoderLayer::TransformerDecoderLayer(ParameterSet& set, const std::string& name,
                                                 const TransformerLayerConfig& c)
    : norm_order_(c.style.norm),
      dropout_(c.dropout),
      self_attn_(set, name + ".self_attn", c.size, c.heads, c.init, c.branch_init,
                 c.attention_dropout, c.attention_style(true)),
      multihead_attn_(set, name + ".multihead_attn", c.size, c.heads, c.init, c.branch_init,
                      c.attention_dropout, c.attention_style(false)),
      feed_forward_(set, name, c.size, c.inner, c.style.activation, c.init.value_or(LinearInit{}),
                    c.branch_init, c.style.linear_bias),
      norm1_(set, name + ".norm1", c.size, c.style.norm_type, c.style.layer_norm_eps),
      norm2_(set, name + ".norm2", c.size, c.style.norm_type, c.style.layer_norm_eps),
      norm3_(set, name + ".norm3", c.size, c.style.norm_type, c.style.layer_norm_eps) {}

template <class Self, class Cross>
Var TransformerDecoderLayer::with(const Var& x, double dropout, Self&& self, Cross&& cross) const {
  Var y = residual_branch(norm_order_, x, norm1_, self);
  y = residual_branch(norm_order_, y, norm2_, cross);
  return residual_branch(norm_order_, y, norm3_, [&](const Var& input, const Var& residual) {
    return feed_forward_.add_to(residual, input, dropout);
  });
}

Var TransformerDecoderLayer::operator()(const Var& x, const Var& memory, const AttentionMask& mask,
                                        const AttentionMask& memory_mask) const {
  return with(
      x, dropout_,
      [&](const Var& input, const Var& residual) {
        return self_attn_.add_to(residual, input, mask, dropout_);
      },
      [&](const Var& input, const Var& residual) {
        return multihead_attn_.add_to(residual, input, memory, memory_mask, dropout_);
      });
}

Var TransformerDecoderLayer::next(const Var& x, Cache& cache, const KeyLists& words,
                                  const KeyLists& memory, const Tensor& weights,
                                  int64_t place) const {
  return with(
      x, 0,
      [&](const Var& input, const Var& residual) {
        return self_attn_.add_next_to(residual, input, cache.words, words, place);
      },
      [&](const Var& input, const Var& residual) {
        return multihead_attn_.add_seen_to(residual, input, cache.memory, memory, weights);
      });
}

void TransformerDecoderLayer::pack(PackedWeights& packed) const {
  self_attn_.pack_self(packed);
  multihead_attn_.pack_cross(packed);
  feed_forward_.pack(packed);
}

}  // namespace nine
