#include "nn/multi_head_attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/packed_weights.h"
#include "core/ops.h"

namespace nine {
namespace {

// Returns row blocks [first, first + count) of a packed (3 d, d) weight and of its (3 d) bias.
Var weight_part(const Var& w, int64_t first, int64_t count) {
  const int64_t d = w.shape().cols();
  return row_range(w, first * d, count * d);
}
Var bias_part(const Var& b, int64_t first, int64_t count) {
  const int64_t d = b.shape().cols() / 3;
  return reshape(row_range(reshape(b, {3, d}), first, count), {count * d});
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(ParameterSet& set, const std::string& name, int64_t size,
                                       int64_t heads, const std::optional<LinearInit>& init,
                                       const std::optional<LinearInit>& out_init,
                                       double weight_dropout)
    : heads_(heads),
      in_proj_weight_(set.add(name + ".in_proj_weight", {3 * size, size},
                              init ? init->weight : Init::xavier_uniform())),
      in_proj_bias_(set.add(name + ".in_proj_bias", {3 * size},
                            init ? init->bias.of_sizes(size, 3 * size) : Init::zeros())),
      out_proj_(set, name + ".out_proj", size, size, true,
                out_init ? *out_init : init.value_or(LinearInit{.bias = Init::zeros()})),
      weight_dropout_(weight_dropout),
      dropout_stream_("dropout." + name),
      weight_stream_(dropout_stream_ + ".weights") {
  require(heads > 0 && size % heads == 0, "[MultiHeadAttention] a size of ", size,
          " does not divide into ", heads, " heads");
}

AttentionShape MultiHeadAttention::shape_of(const AttentionMask& mask) const {
  return {.batch = mask.batch,
          .heads = heads_,
          .lengths = mask.lengths,
          .causal = mask.causal,
          .dropout = weight_dropout_,
          .stream = weight_stream_};
}

Var MultiHeadAttention::projected(const Var& x, int64_t first, int64_t count) const {
  Tape& tape = x.tape();
  const Var w = tape.parameter(in_proj_weight_), b = tape.parameter(in_proj_bias_);
  if (count == 3) return linear(x, w, b);
  return linear(x, weight_part(w, first, count), bias_part(b, first, count));
}

Var MultiHeadAttention::attend(const Var& x, const AttentionMask& mask) const {
  const Var qkv = projected(x, 0, 3);
  if (!mask.lists) return attention(qkv, shape_of(mask));
  const int64_t d = x.shape().cols();
  return attention(col_range(qkv, 0, d), col_range(qkv, d, 2 * d), mask.lists, heads_);
}

Var MultiHeadAttention::attend(const Var& x, const Var& memory, const AttentionMask& mask) const {
  const Var q = projected(x, 0, 1);
  return attention(q, projected(memory, 1, 2), shape_of(mask));
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
                                    const KeyLists& lists) const {
  const int64_t d = x.shape().cols();
  const Var qkv = projected(x, 0, 3);
  cache.append(qkv.value().view().col_range(d, 2 * d));
  const Var y =
      attention(col_range(qkv, 0, d), x.tape().constant(cache.keys_values()), lists, heads_);
  return out_proj_.dropout_add(y, residual, 0, dropout_stream_);
}

void MultiHeadAttention::store(const Var& x, KeyValueCache& cache) const {
  cache.append(projected(x, 1, 2).value());
}

Var MultiHeadAttention::add_seen_to(const Var& residual, const Var& x, const KeyValueCache& cache,
                                    const KeyLists& lists, const Tensor& weights) const {
  const Var y =
      attention(projected(x, 0, 1), x.tape().constant(cache.keys_values()), lists, heads_, weights);
  return out_proj_.dropout_add(y, residual, 0, dropout_stream_);
}

void MultiHeadAttention::pack_self(PackedWeights& packed) const {
  packed.add(in_proj_weight_.value(), in_proj_bias_.value());
  out_proj_.pack(packed);
}

void MultiHeadAttention::pack_cross(PackedWeights& packed) const {
  const View w = in_proj_weight_.value(), b = in_proj_bias_.value();
  const int64_t d = w.cols();
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 2}})
    packed.add(w.row_range(first * d, count * d),
               b.reshaped({3, d}).row_range(first, count).reshaped({count * d}));
  out_proj_.pack(packed);
}

Var MultiHeadAttention::weights(const Var& x) const {
  Tape& tape = x.tape();
  const int64_t steps = x.shape()[0], d = x.shape()[1], size = d / heads_;
  const Var qkv = projected(x, 0, 3);
  const Tensor unseen({steps, steps}, DType::float64), mask({steps, steps}, x.dtype());
  for (int64_t t = 0; t < steps; ++t)
    std::fill_n(unseen.data<double>() + t * steps + t + 1, steps - t - 1, -1e30);
  ops::copy(unseen, mask);
  const Var hidden = tape.constant(tape.on_device(mask));
  Var mean;
  for (int64_t h = 0; h < heads_; ++h) {
    const Var score =
        matmul(col_range(qkv, h * size, size), col_range(qkv, d + h * size, size), false, true);
    const Var p = softmax(add(scale(score, 1 / std::sqrt(static_cast<double>(size))), hidden));
    mean = mean ? add(mean, p) : p;
  }
  return scale(mean, 1 / static_cast<double>(heads_));
}

}  // namespace nine
