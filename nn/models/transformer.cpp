#include "nn/models/transformer.h"

#include <cmath>

#include "core/ops.h"

namespace nine {
namespace {

Init glorot(int64_t in, int64_t out) {
  return Init::uniform(std::sqrt(6.0 / static_cast<double>(in + out)));
}

// Row blocks [first, first + count) of a packed (3 d, d) weight and its (3 d) bias.
Var weight_part(const Var& w, int64_t first, int64_t count) {
  const int64_t d = w.shape().cols();
  return row_range(w, first * d, count * d);
}
Var bias_part(const Var& b, int64_t first, int64_t count) {
  const int64_t d = b.shape().cols() / 3;
  return reshape(row_range(reshape(b, {3, d}), first, count), {count * d});
}

Tensor lengths_of(const Tensor& ids, int32_t pad) {
  const int64_t rows = ids.shape()[0], cols = ids.shape()[1];
  Tensor lengths({rows}, DType::int32);
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t* row = ids.data<int32_t>() + r * cols;
    int64_t n = cols;
    while (n > 0 && row[n - 1] == pad) --n;
    lengths.data<int32_t>()[r] = static_cast<int32_t>(n);
  }
  return lengths;
}

}  // namespace

TranslationBatch TranslationBatch::of_padded(const Tensor& src, const Tensor& tgt_in,
                                             const Tensor& tgt_out, int32_t pad) {
  require(src.shape().rank() == 2 && tgt_in.shape().rank() == 2 &&
              tgt_in.shape() == tgt_out.shape() && src.shape()[0] == tgt_in.shape()[0],
          "[TranslationBatch] ids are (B, S), (B, T) and (B, T), not ", src.shape(), ", ",
          tgt_in.shape(), " and ", tgt_out.shape());
  TranslationBatch batch{.src = src,
                         .tgt_in = tgt_in,
                         .tgt_out = tgt_out.clone(),
                         .src_lengths = lengths_of(src, pad),
                         .tgt_lengths = lengths_of(tgt_in, pad)};
  int32_t* target = batch.tgt_out.data<int32_t>();
  for (int64_t i = 0; i < tgt_out.elements(); ++i) {
    if (target[i] == pad) target[i] = -1;
    batch.tokens += target[i] >= 0;
  }
  return batch;
}

Transformer::Affine::Affine(ParameterSet& set, const std::string& name, int64_t in,
                            int64_t out_size)
    : w(set.add(name + ".weight", {out_size, in}, glorot(in, out_size))),
      b(set.add(name + ".bias", {out_size}, Init::zeros())) {}

Transformer::Attention::Attention(ParameterSet& set, const std::string& name, int64_t dim)
    : in_w(set.add(name + ".in_proj_weight", {3 * dim, dim}, glorot(dim, 3 * dim))),
      in_b(set.add(name + ".in_proj_bias", {3 * dim}, Init::zeros())),
      out(set, name + ".out_proj", dim, dim),
      stream("dropout." + name) {}

Transformer::FeedForward::FeedForward(ParameterSet& set, const std::string& name, int64_t dim,
                                      int64_t ffn)
    : first(set, name + ".linear1", dim, ffn),
      second(set, name + ".linear2", ffn, dim),
      stream("dropout." + name + ".linear2") {}

Transformer::EncoderLayer::EncoderLayer(ParameterSet& set, const std::string& name,
                                        const TransformerConfig& c)
    : self(set, name + ".self_attn", c.dim),
      feed(set, name, c.dim, c.ffn),
      norm1(set, name + ".norm1", c.dim),
      norm2(set, name + ".norm2", c.dim) {}

Transformer::DecoderLayer::DecoderLayer(ParameterSet& set, const std::string& name,
                                        const TransformerConfig& c)
    : self(set, name + ".self_attn", c.dim),
      cross(set, name + ".multihead_attn", c.dim),
      feed(set, name, c.dim, c.ffn),
      norm1(set, name + ".norm1", c.dim),
      norm2(set, name + ".norm2", c.dim),
      norm3(set, name + ".norm3", c.dim) {}

Transformer::Transformer(ParameterSet& set, const TransformerConfig& config)
    : config_(config), parameters_(set) {
  const TransformerConfig& c = config_;
  require(c.dim > 0 && c.dim % 2 == 0, "--hidden ", c.dim,
          ": sinusoidal positions come in pairs, so the width must be even");
  require(c.heads > 0 && c.dim % c.heads == 0, "--hidden ", c.dim, " does not divide into --heads ",
          c.heads);
  require(!c.shared_vocab || c.src_vocab == c.tgt_vocab, "a shared vocabulary cannot have ",
          c.src_vocab, " words in the source and ", c.tgt_vocab, " in the target");
  const Init words = Init::normal(1 / std::sqrt(static_cast<double>(c.dim)));
  tgt_embedding_ = &set.add("tgt_embedding.weight", {c.tgt_vocab, c.dim}, words);
  src_embedding_ = c.shared_vocab ? tgt_embedding_
                                  : &set.add("src_embedding.weight", {c.src_vocab, c.dim}, words);
  const std::string encoder = "transformer.encoder", decoder = "transformer.decoder";
  for (int64_t i = 0; i < c.encoder_layers; ++i)
    encoder_.emplace_back(set, concat(encoder, ".layers.", i), c);
  if (c.norm == NormOrder::pre) encoder_norm_.emplace(set, encoder + ".norm", c.dim);
  for (int64_t i = 0; i < c.decoder_layers; ++i)
    decoder_.emplace_back(set, concat(decoder, ".layers.", i), c);
  if (c.norm == NormOrder::pre) decoder_norm_.emplace(set, decoder + ".norm", c.dim);
  head_.emplace(set, c.head, c.tgt_vocab, c.dim, c.tie_embeddings ? tgt_embedding_ : nullptr,
                words);
  set.ignore_on_load(kPositionsName);
}

double Transformer::embed_scale() const { return std::sqrt(static_cast<double>(config_.dim)); }

const Tensor& Transformer::positions() const {
  if (positions_) return positions_;
  const int64_t half = config_.dim / 2;
  const Tensor exact({config_.max_length, config_.dim}, DType::float64),
      rounded(exact.shape(), dtype());
  for (int64_t t = 0; t < config_.max_length; ++t)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) *
                           std::pow(1e4, -static_cast<double>(i) / static_cast<double>(half));
      double* row = exact.data<double>() + t * config_.dim;
      row[i] = std::sin(angle);
      row[half + i] = std::cos(angle);
    }
  ops::copy(exact, rounded);
  positions_ = Tensor(exact.shape(), dtype(), parameters_.values().device());
  ops::copy(rounded, positions_);
  return positions_;
}

Var Transformer::embed(Tape& tape, Parameter& table, const Tensor& ids,
                       std::string_view stream) const {
  require(ids.shape().rank() == 2 && ids.shape()[1] <= config_.max_length,
          "a batch of ids of shape ", ids.shape(), " is no (sentences, positions) of at most ",
          config_.max_length, " positions");
  return dropout(embedding_with_positions(tape.parameter(table), tape.on_device(ids), embed_scale(),
                                          positions()),
                 config_.dropout, stream);
}

template <class Branch>
Var Transformer::residual(const Var& x, const LayerNorm& norm, Branch&& branch) const {
  return config_.norm == NormOrder::post ? norm(branch(x, x)) : branch(norm(x), x);
}

Var Transformer::self_attention(const Var& x, const Attention& a, const LayerNorm& norm,
                                const AttentionShape& shape) const {
  Tape& tape = x.tape();
  return residual(x, norm, [&](const Var& in, const Var& rest) {
    const Var qkv = linear(in, tape.parameter(a.in_w), tape.parameter(a.in_b));
    return linear_bias_dropout_add(attention(qkv, shape), tape.parameter(a.out.w),
                                   tape.parameter(a.out.b), rest, config_.dropout, a.stream);
  });
}

Var Transformer::cross_attention(const Var& x, const Var& memory, const Attention& a,
                                 const LayerNorm& norm, const AttentionShape& shape) const {
  Tape& tape = x.tape();
  return residual(x, norm, [&](const Var& in, const Var& rest) {
    const Var w = tape.parameter(a.in_w), b = tape.parameter(a.in_b);
    const Var q = linear(in, weight_part(w, 0, 1), bias_part(b, 0, 1));
    const Var kv = linear(memory, weight_part(w, 1, 2), bias_part(b, 1, 2));
    return linear_bias_dropout_add(attention(q, kv, shape), tape.parameter(a.out.w),
                                   tape.parameter(a.out.b), rest, config_.dropout, a.stream);
  });
}

Var Transformer::feed_forward(const Var& x, const FeedForward& f, const LayerNorm& norm) const {
  Tape& tape = x.tape();
  return residual(x, norm, [&](const Var& in, const Var& rest) {
    const Var inner = linear_relu(in, tape.parameter(f.first.w), tape.parameter(f.first.b));
    return linear_bias_dropout_add(inner, tape.parameter(f.second.w), tape.parameter(f.second.b),
                                   rest, config_.dropout, f.stream);
  });
}

Var Transformer::encode(Tape& tape, const Tensor& src, const Tensor& src_lengths) const {
  const AttentionShape shape{
      .batch = src.shape()[0], .heads = config_.heads, .lengths = tape.on_device(src_lengths)};
  Var x = embed(tape, *src_embedding_, src, "dropout.src_embedding");
  for (const EncoderLayer& layer : encoder_)
    x = feed_forward(self_attention(x, layer.self, layer.norm1, shape), layer.feed, layer.norm2);
  return encoder_norm_ ? (*encoder_norm_)(x) : x;
}

Var Transformer::decode(const Var& memory, const Tensor& src_lengths, const Tensor& tgt_in,
                        const Tensor& tgt_lengths) const {
  Tape& tape = memory.tape();
  const int64_t batch = tgt_in.shape()[0], heads = config_.heads;
  const AttentionShape past{
      .batch = batch, .heads = heads, .lengths = tape.on_device(tgt_lengths), .causal = true};
  const AttentionShape source{
      .batch = batch, .heads = heads, .lengths = tape.on_device(src_lengths)};
  Var x = embed(tape, *tgt_embedding_, tgt_in, "dropout.tgt_embedding");
  for (const DecoderLayer& layer : decoder_) {
    x = self_attention(x, layer.self, layer.norm1, past);
    x = cross_attention(x, memory, layer.cross, layer.norm2, source);
    x = feed_forward(x, layer.feed, layer.norm3);
  }
  return decoder_norm_ ? (*decoder_norm_)(x) : x;
}

SoftmaxLoss Transformer::loss(Tape& tape, const TranslationBatch& batch, double row_weight) const {
  const Var memory = encode(tape, batch.src, batch.src_lengths);
  return loss(decode(memory, batch.src_lengths, batch.tgt_in, batch.tgt_lengths), batch.tgt_out,
              row_weight);
}

std::map<std::string, std::string> Transformer::metadata() const {
  std::map<std::string, std::string> m{{"format", "pt"}};
  std::string tied;
  if (config_.tie_embeddings) tied = head_->tie_text("tgt_embedding.weight");
  if (config_.shared_vocab)
    tied += std::string(tied.empty() ? "" : ",") + "src_embedding.weight=tgt_embedding.weight";
  if (!tied.empty()) m["tied"] = tied;
  return m;
}

}  // namespace nine
