#include "nn/models/incremental_transformer.h"

#include <algorithm>
#include <cmath>

#include "core/cpu/elementwise_loops.h"
#include "core/cpu/row_loops.h"
#include "core/ops.h"
#include "core/scratch.h"

namespace nine {
namespace {

// Computes one row's attention to n keys. key(i) points to key i's numbers, which key i's value
// follows.
template <class T, class Key>
void attend(cpu::RowAttention<T> a, Key&& key) {
  const T** keys = scratch<const T*>(Scratch::lanes, a.n);
  for (int64_t i = 0; i < a.n; ++i) keys[i] = key(i);
  a.keys = keys;
  cpu::row_loops<T>().attend(a);
}

}  // namespace

// Weights.

template <class T>
View IncrementalTransformer<T>::at(const std::string& name) const {
  const auto found = std::find_if(views_.begin(), views_.end(),
                                  [&](const NamedView& v) { return v.name == name; });
  return found == views_.end() ? View{} : found->view;
}

template <class T>
PackedLinear<T> IncrementalTransformer<T>::linear(const std::string& name) const {
  return Linear(at(name + ".weight"), at(name + ".bias"));
}

template <class T>
PackedLinear<T> IncrementalTransformer<T>::projection(const std::string& attention, int64_t first,
                                                      int64_t count) const {
  const int64_t d = config_.dim;
  View bias = at(attention + ".in_proj_bias");
  bias.data = cpu::row_ptr<T>(bias, 0) + first * d;
  bias.shape = Shape{count * d};
  return Linear(at(attention + ".in_proj_weight").row_range(first * d, count * d), bias);
}

template <class T>
typename IncrementalTransformer<T>::FeedForward IncrementalTransformer<T>::feed(
    const std::string& layer) const {
  return {linear(layer + ".linear1"), linear(layer + ".linear2")};
}

template <class T>
typename IncrementalTransformer<T>::Norm IncrementalTransformer<T>::norm(
    const std::string& name) const {
  return {cpu::row_ptr<T>(at(name + ".weight"), 0), cpu::row_ptr<T>(at(name + ".bias"), 0)};
}

template <class T>
IncrementalTransformer<T>::IncrementalTransformer(const Transformer& model)
    : config_(model.config()), embed_scale_(model.embed_scale()) {
  const Tensor& values = model.parameters().values();
  require(values.dtype() == dtype_of<T>,
          "[IncrementalTransformer] the model's weights have the wrong type, ", values.dtype());
  weights_ = Tensor(values.shape(), values.dtype());
  ops::copy(values, weights_);
  views_ = model.parameters().named(weights_);
  positions_ = Tensor(model.positions().shape(), values.dtype());
  ops::copy(model.positions(), positions_);
  tgt_embedding_ = at("tgt_embedding.weight");
  src_embedding_ = config_.shared_vocab ? tgt_embedding_ : at("src_embedding.weight");
  for (int64_t i = 0; i < config_.encoder_layers; ++i) {
    const std::string layer = concat("transformer.encoder.layers.", i), self = layer + ".self_attn";
    encoder_.push_back({projection(self, 0, 3), linear(self + ".out_proj"), feed(layer),
                        norm(layer + ".norm1"), norm(layer + ".norm2")});
  }
  for (int64_t i = 0; i < config_.decoder_layers; ++i) {
    const std::string layer = concat("transformer.decoder.layers.", i), self = layer + ".self_attn",
                      cross = layer + ".multihead_attn";
    decoder_.push_back({projection(self, 0, 3), linear(self + ".out_proj"), projection(cross, 0, 1),
                        projection(cross, 1, 2), linear(cross + ".out_proj"), feed(layer),
                        norm(layer + ".norm1"), norm(layer + ".norm2"), norm(layer + ".norm3")});
  }
  if (config_.has_final_norms()) {
    encoder_norm_ = norm("transformer.encoder.norm");
    decoder_norm_ = norm("transformer.decoder.norm");
  }
  HeadValues head{.bias = at("head.bias"),
                  .prior = at("head.prior.weight"),
                  .latent = at("head.latent.weight"),
                  .norms = model.head().norms()};
  if (config_.tie_embeddings) head.w.push_back(tgt_embedding_);
  if (const View own = at("head.weight")) head.w.push_back(own);
  head_ = std::make_unique<HeadDecoder<T>>(model.head().present_spec(), head);
}

// Layers.

template <class T>
void IncrementalTransformer<T>::Norm::operator()(const T* x, int64_t rows, int64_t d, T* y) const {
  parallel_for(
      rows,
      [&](int64_t r) {
        cpu::row_loops<T>().layer_norm(x + r * d, gamma, beta, d, LayerNorm::kEps, y + r * d);
      },
      static_cast<double>(8 * rows * d));
}

template <class T>
void IncrementalTransformer<T>::embed(const View& table, int32_t word, int64_t position,
                                      T* y) const {
  require(word >= 0 && word < table.rows(), "[BeamSearch] word ", word,
          " is outside of the dictionary of ", table.rows());
  const T *vector = cpu::row_ptr<T>(table, word), *place = cpu::row_ptr<T>(positions_, position),
          scale = static_cast<T>(embed_scale_);
  for (int64_t c = 0; c < config_.dim; ++c) y[c] = scale * vector[c] + place[c];
}

template <class T>
template <class F>
void IncrementalTransformer<T>::residual(const Norm& norm, T* x, int64_t rows, T* spare,
                                         F&& f) const {
  const int64_t d = config_.dim;
  if (config_.norm == NormOrder::pre) {
    norm(x, rows, d, spare);
    f(spare);
  } else {
    f(x);
    norm(x, rows, d, x);
  }
}

template <class T>
void IncrementalTransformer<T>::feed_forward(const FeedForward& f, const Norm& norm, Batch& b,
                                             int64_t rows) const {
  const int64_t d = config_.dim, wide = config_.ffn;
  residual(norm, b.x_.data(), rows, b.in_.data(), [&](const T* in) {
    f.first(in, d, rows, b.wide_.data(), wide, Linear::Mode::relu);
    f.second(b.wide_.data(), wide, rows, b.x_.data(), d, Linear::Mode::add);
  });
}

// A batch.

template <class T>
void IncrementalTransformer<T>::Batch::reserve(int64_t rows) {
  const int64_t padded = Linear::padded(rows), d = model_.config_.dim;
  x_.get(padded * d);
  in_.get(padded * d);
  y_.get(padded * d);
  wide_.get(padded * std::max(3 * d, model_.config_.ffn));
}

template <class T>
void IncrementalTransformer<T>::Batch::encode(std::span<const std::vector<int32_t>> sentences,
                                              int64_t slots) {
  const TransformerConfig& c = model_.config_;
  const int64_t d = c.dim, size = d / c.heads;
  slots_ = static_cast<int64_t>(sentences.size()) * slots;
  longest_ = 0;
  offsets_.assign(1, 0);
  for (const auto& words : sentences) {
    offsets_.push_back(offsets_.back() + static_cast<int64_t>(words.size()));
    longest_ = std::max(longest_, static_cast<int64_t>(words.size()));
  }
  require(longest_ <= c.max_length, "[BeamSearch] a sentence of ", longest_,
          " words with </s>, but the model has positions for ", c.max_length);
  const int64_t rows = offsets_.back();
  reserve(std::max(rows, slots_));
  T *x = x_.data(), *qkv = wide_.data();
  std::vector<int64_t> first(static_cast<size_t>(rows)),
      count(static_cast<size_t>(rows));  // number of words of each row's sentence
  for (size_t s = 0; s < sentences.size(); ++s)
    for (size_t i = 0; i < sentences[s].size(); ++i) {
      const int64_t r = offsets_[s] + static_cast<int64_t>(i);
      model_.embed(model_.src_embedding_, sentences[s][i], static_cast<int64_t>(i), x + r * d);
      first[static_cast<size_t>(r)] = offsets_[s];
      count[static_cast<size_t>(r)] = static_cast<int64_t>(sentences[s].size());
    }
  for (const EncoderLayer& layer : model_.encoder_) {
    model_.residual(layer.norm1, x, rows, in_.data(), [&](const T* in) {
      layer.qkv(in, d, rows, qkv, 3 * d);
      parallel_for(
          rows,
          [&](int64_t r) {
            const T* keys = qkv + first[static_cast<size_t>(r)] * 3 * d + d;
            attend<T>({.q = qkv + r * 3 * d,
                       .heads = c.heads,
                       .size = size,
                       .n = count[static_cast<size_t>(r)],
                       .y = y_.data() + r * d},
                      [&](int64_t i) { return keys + i * 3 * d; });
          },
          static_cast<double>(4 * rows * longest_ * d));
      layer.out(y_.data(), d, rows, x, d, Linear::Mode::add);
    });
    model_.feed_forward(layer.feed, layer.norm2, *this, rows);
  }
  if (c.has_final_norms()) model_.encoder_norm_(x, rows, d, x);
  source_keys_.resize(model_.decoder_.size());
  for (size_t i = 0; i < model_.decoder_.size(); ++i)
    model_.decoder_[i].cross_kv(x, d, rows, source_keys_[i].get(Linear::padded(rows) * 2 * d),
                                2 * d);
}

template <class T>
T* IncrementalTransformer<T>::Batch::past(size_t step, size_t layer, int64_t slot) const {
  return past_[step].data() +
         (static_cast<int64_t>(layer) * slots_ + slot) * 2 * model_.config_.dim;
}

template <class T>
void IncrementalTransformer<T>::Batch::self_attention(size_t layer, int64_t t,
                                                      std::span<const Row> rows,
                                                      const int32_t* ancestors, int64_t stride) {
  const TransformerConfig& c = model_.config_;
  const int64_t d = c.dim, count = static_cast<int64_t>(rows.size());
  const T* qkv = wide_.data();
  const auto step = static_cast<size_t>(t);
  parallel_for(
      count,
      [&](int64_t r) {
        const int64_t slot = rows[static_cast<size_t>(r)].slot;
        std::copy_n(qkv + r * 3 * d + d, 2 * d, past(step, layer, slot));
        const int32_t* of_row = ancestors + slot * stride;
        attend<T>({.q = qkv + r * 3 * d,
                   .heads = c.heads,
                   .size = d / c.heads,
                   .n = t + 1,
                   .y = y_.data() + r * d},
                  [&](int64_t i) {
                    return past(static_cast<size_t>(i), layer, i < t ? of_row[i] : slot);
                  });
      },
      static_cast<double>(4 * count * (t + 1) * d));
}

template <class T>
void IncrementalTransformer<T>::Batch::cross_attention(size_t layer, std::span<const Row> rows) {
  const TransformerConfig& c = model_.config_;
  const int64_t d = c.dim, count = static_cast<int64_t>(rows.size());
  const T *q = wide_.data(), *keys = source_keys_[layer].data();
  float* kept = keep_attention_ && layer + 1 == model_.decoder_.size()
                    ? attention_.get(count * longest_)
                    : nullptr;
  parallel_for(
      count,
      [&](int64_t r) {
        const int64_t sentence = rows[static_cast<size_t>(r)].sentence;
        const T* own = keys + offsets_[static_cast<size_t>(sentence)] * 2 * d;
        attend<T>({.q = q + r * d,
                   .heads = c.heads,
                   .size = d / c.heads,
                   .n = source_length(sentence),
                   .y = y_.data() + r * d,
                   .mean_weights = kept != nullptr ? kept + r * longest_ : nullptr},
                  [&](int64_t i) { return own + i * 2 * d; });
      },
      static_cast<double>(4 * count * longest_ * d));
}

template <class T>
const T* IncrementalTransformer<T>::Batch::step(int64_t t, std::span<const Row> rows,
                                                const int32_t* ancestors, int64_t stride) {
  const TransformerConfig& c = model_.config_;
  const int64_t d = c.dim, count = static_cast<int64_t>(rows.size());
  require(t < c.max_length, "[BeamSearch] step ", t, ", but the model has positions for ",
          c.max_length);
  if (past_.size() <= static_cast<size_t>(t)) past_.resize(static_cast<size_t>(t) + 1);
  past_[static_cast<size_t>(t)].get(static_cast<int64_t>(model_.decoder_.size()) * slots_ * 2 * d);
  T* x = x_.data();
  sentence_of_.clear();
  for (size_t r = 0; r < rows.size(); ++r) {
    model_.embed(model_.tgt_embedding_, rows[r].word, t, x + static_cast<int64_t>(r) * d);
    sentence_of_.push_back(rows[r].sentence);
  }
  for (size_t i = 0; i < model_.decoder_.size(); ++i) {
    const DecoderLayer& layer = model_.decoder_[i];
    model_.residual(layer.norm1, x, count, in_.data(), [&](const T* in) {
      layer.qkv(in, d, count, wide_.data(), 3 * d);
      self_attention(i, t, rows, ancestors, stride);
      layer.out(y_.data(), d, count, x, d, Linear::Mode::add);
    });
    model_.residual(layer.norm2, x, count, in_.data(), [&](const T* in) {
      layer.cross_q(in, d, count, wide_.data(), d);
      cross_attention(i, rows);
      layer.cross_out(y_.data(), d, count, x, d, Linear::Mode::add);
    });
    model_.feed_forward(layer.feed, layer.norm3, *this, count);
  }
  if (c.has_final_norms()) model_.decoder_norm_(x, count, d, x);
  return x;
}

template <class T>
std::span<const float> IncrementalTransformer<T>::Batch::attention(int64_t row) const {
  return {attention_.data() + row * longest_,
          static_cast<size_t>(source_length(sentence_of_[static_cast<size_t>(row)]))};
}

template class IncrementalTransformer<float>;
template class IncrementalTransformer<double>;

}  // namespace nine
