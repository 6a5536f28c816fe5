#include "nn/multi_head_attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/packed_weights.h"
#include "core/ops.h"

namespace nine {
namespace {

int64_t checked_kv_heads(int64_t size, int64_t heads, int64_t kv_heads) {
  require(heads > 0 && size % heads == 0, "[MultiHeadAttention] a size of ", size,
          " does not divide into ", heads, " heads");
  require(kv_heads >= 0 && kv_heads <= heads && (kv_heads == 0 || heads % kv_heads == 0),
          "[MultiHeadAttention] ", heads, " heads of queries cannot share ", kv_heads,
          " heads of keys evenly");
  return kv_heads > 0 ? kv_heads : heads;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(ParameterSet& set, const std::string& name, int64_t size,
                                       int64_t heads, const std::optional<LinearInit>& init,
                                       const std::optional<LinearInit>& out_init,
                                       double weight_dropout, const AttentionStyle& style)
    : heads_(heads),
      kv_heads_(checked_kv_heads(size, heads, style.kv_heads)),
      head_size_(size / heads),
      in_proj_weight_(set.add(name + ".in_proj_weight", {size + 2 * width(), size},
                              init ? init->weight : Init::xavier_uniform())),
      in_proj_bias_(style.bias ? &set.add(name + ".in_proj_bias", {size + 2 * width()},
                                          init ? init->bias.of_sizes(size, size + 2 * width())
                                               : Init::zeros())
                               : nullptr),
      out_proj_(set, name + ".out_proj", size, size, style.bias,
                out_init ? *out_init : init.value_or(LinearInit{.bias = Init::zeros()})),
      norm_eps_(style.norm_eps),
      positions_(style.positions),
      weight_dropout_(weight_dropout),
      dropout_stream_("dropout." + name),
      weight_stream_(dropout_stream_ + ".weights") {
  in_proj_weight_.linear_map = true;
  if (!style.qk_norm) return;
  q_norm_ = &set.add(name + ".q_norm.weight", {head_size_}, Init::ones());
  k_norm_ = &set.add(name + ".k_norm.weight", {head_size_}, Init::ones());
}

AttentionShape MultiHeadAttention::shape_of(const AttentionMask& mask) const {
  return {.batch = mask.batch,
          .heads = heads_,
          .kv_heads = kv_heads_,
          .lengths = mask.lengths,
          .causal = mask.causal,
          .dropout = weight_dropout_,
          .stream = weight_stream_};
}

Var MultiHeadAttention::projected(const Var& x, int64_t first, int64_t count) const {
  Tape& tape = x.tape();
  const int64_t all = heads_ + 2 * kv_heads_;
  Var w = tape.parameter(in_proj_weight_),
      b = in_proj_bias_ != nullptr ? tape.parameter(*in_proj_bias_) : Var();
  if (count == all) return linear(x, w, b);
  w = row_range(w, first * head_size_, count * head_size_);
  if (b) b = reshape(row_range(reshape(b, {all, head_size_}), first, count), {count * head_size_});
  return linear(x, w, b);
}

Tensor MultiHeadAttention::places(const Var& x, int64_t first, int64_t steps) const {
  if (positions_ == nullptr) return {};
  return positions_->rows(first, steps, x.dtype(), x.value().device());
}

Tensor MultiHeadAttention::places(const Var& x, const RowPlaces& places) const {
  if (positions_ == nullptr || !places.each) return this->places(x, places.all, 1);
  const Tensor& table = positions_->table(x.dtype(), x.value().device());
  return embedding(x.tape().constant(table), places.each).value();
}

Var MultiHeadAttention::queries_keys_values(const Var& x, const Tensor& rows) const {
  Tape& tape = x.tape();
  const int64_t d = heads_ * head_size_;
  Var qkv = projected(x, 0, heads_ + 2 * kv_heads_);
  if (q_norm_ != nullptr)
    qkv = rms_norm_columns(qkv, {tape.parameter(*q_norm_), d}, {tape.parameter(*k_norm_), width()},
                           norm_eps_);
  return rows ? positions_->placed(qkv, rows, d + width()) : qkv;
}

Var MultiHeadAttention::queries(const Var& x) const {
  const Var q = projected(x, 0, heads_);
  return q_norm_ != nullptr ? rms_norm(q, x.tape().parameter(*q_norm_), norm_eps_) : q;
}

Var MultiHeadAttention::keys_values(const Var& x) const {
  const Var kv = projected(x, heads_, 2 * kv_heads_);
  if (k_norm_ == nullptr) return kv;
  return rms_norm_columns(kv, {x.tape().parameter(*k_norm_), width()}, {}, norm_eps_);
}

Var MultiHeadAttention::attend(const Var& x, const AttentionMask& mask) const {
  if (!mask.lists)
    return attention(queries_keys_values(x, places(x, 0, x.shape().rows() / mask.batch)),
                     shape_of(mask));
  require(positions_ == nullptr || mask.places,
          "[MultiHeadAttention] AttentionPositions need places");
  const int64_t d = heads_ * head_size_;
  const Var qkv = queries_keys_values(x, places(x, RowPlaces(mask.places)));
  return attention(col_range(qkv, 0, d), col_range(qkv, d, 2 * width()), mask.lists, heads_);
}

Var MultiHeadAttention::attend(const Var& x, const Var& memory, const AttentionMask& mask) const {
  const Var q = queries(x);
  return attention(q, keys_values(memory), shape_of(mask));
}

Var MultiHeadAttention::operator()(const Var& x, const AttentionMask& mask) const {
  return out_proj_(attend(x, mask));
}

Var MultiHeadAttention::operator()(const Var& x, const Var& memory,
                                   const AttentionMask& mask) const {
  return out_proj_(attend(x, memory, mask));
}

Var MultiHeadAttention::add_to(const Var& residual, const Var& x, const AttentionMask& mask,
                               double dropout) const {
  return out_proj_.dropout_add(attend(x, mask), residual, dropout, dropout_stream_);
}

Var MultiHeadAttention::add_to(const Var& residual, const Var& x, const Var& memory,
                               const AttentionMask& mask, double dropout) const {
  return out_proj_.dropout_add(attend(x, memory, mask), residual, dropout, dropout_stream_);
}

Var MultiHeadAttention::add_next_to(const Var& residual, const Var& x, KeyValueCache& cache,
                                    const KeyLists& lists, const RowPlaces& places) const {
  const int64_t d = heads_ * head_size_;
  const Var qkv = queries_keys_values(x, this->places(x, places));
  cache.append(qkv.value().view().col_range(d, 2 * width()));
  const Var y =
      attention(col_range(qkv, 0, d), x.tape().constant(cache.keys_values()), lists, heads_);
  return out_proj_.dropout_add(y, residual, 0, dropout_stream_);
}

void MultiHeadAttention::store(const Var& x, KeyValueCache& cache) const {
  cache.append(keys_values(x).value());
}

Var MultiHeadAttention::add_seen_to(const Var& residual, const Var& x, const KeyValueCache& cache,
                                    const KeyLists& lists, const Tensor& weights) const {
  const Var y =
      attention(queries(x), x.tape().constant(cache.keys_values()), lists, heads_, weights);
  return out_proj_.dropout_add(y, residual, 0, dropout_stream_);
}

void MultiHeadAttention::pack_self(PackedWeights& packed) const {
  packed.add(in_proj_weight_.value(),
             in_proj_bias_ != nullptr ? in_proj_bias_->value().view() : View{});
  out_proj_.pack(packed);
}

void MultiHeadAttention::pack_cross(PackedWeights& packed) const {
  const View w = in_proj_weight_.value();
  const int64_t d = heads_ * head_size_;
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, d}, {d, 2 * width()}}) {
    View bias;
    if (in_proj_bias_ != nullptr)
      bias = in_proj_bias_->value()
                 .view()
                 .reshaped({d + 2 * width(), 1})
                 .row_range(first, count)
                 .reshaped({count});
    packed.add(w.row_range(first, count), bias);
  }
  out_proj_.pack(packed);
}

Var MultiHeadAttention::weights(const Var& x) const {
  Tape& tape = x.tape();
  const int64_t steps = x.shape()[0], d = x.shape()[1], size = head_size_;
  const Var qkv = queries_keys_values(x, places(x, 0, steps));
  const Tensor unseen({steps, steps}, DType::float64), mask({steps, steps}, x.dtype());
  for (int64_t t = 0; t < steps; ++t)
    std::fill_n(unseen.data<double>() + t * steps + t + 1, steps - t - 1, -1e30);
  ops::copy(unseen, mask);
  const Var hidden = tape.constant(tape.on_device(mask));
  Var mean;
  for (int64_t h = 0; h < heads_; ++h) {
    const Var score =
        matmul(col_range(qkv, h * size, size),
               col_range(qkv, d + h / (heads_ / kv_heads_) * size, size), false, true);
    const Var p = softmax(add(scale(score, 1 / std::sqrt(static_cast<double>(size))), hidden));
    mean = mean ? add(mean, p) : p;
  }
  return scale(mean, 1 / static_cast<double>(heads_));
}

}  // namespace nine
