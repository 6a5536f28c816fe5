// Attention and the Transformer: against the composed twin, against plain loops over the parameters
// of torch.nn.Transformer, and what must hold of padding, masks, cached decoding and a training
// step.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/mt_train/mt_parity_export.h"
#include "autograd/functions.h"
#include "checks/op_cases.h"
#include "core/ops.h"
#include "nn/models/transformer.h"
#include "nn/training/optimizer.h"
#include "nn/training/translation_task.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_transformer {

using namespace nine::checks;

namespace {

// --- attention

// The composed twin: attention of one head of one batch element from plain functions.
Var composed_attention(const Var& q, const Var& k, const Var& v, int64_t seen, bool causal) {
  Tape& tape = q.tape();
  const int64_t queries = q.shape().rows(), keys = k.shape().rows();
  const Tensor mask({queries, keys}, q.dtype());
  for (int64_t t = 0; t < queries; ++t)
    for (int64_t s = 0; s < keys; ++s)
      if (s >= seen || (causal && s > t)) mask.data<double>()[t * keys + s] = -1e300;
  const Var score =
      scale(matmul(q, k, false, true), 1 / std::sqrt(static_cast<double>(q.shape().cols())));
  return matmul(exp(log_softmax(add(score, tape.constant(mask)))), v);
}

struct Gradients {
  Doubles y, dqkv;
};

// sum(y * weights) of self-attention, fused or composed: y and the gradient of qkv.
Gradients self_attention(const Doubles& values, int64_t batch, int64_t steps, int64_t heads,
                         int64_t size, const Ints& lengths, bool causal, bool fused) {
  const int64_t d = heads * size;
  Arena pool("attention");
  Tape tape(pool);
  const Var qkv = tape.leaf(tensor_of(values, {batch * steps, 3 * d}, DType::float64));
  const Tensor weights = tensor_of(random_values({{{batch * steps, d}, 0.5, 1.5}}, 3)[0],
                                   {batch * steps, d}, DType::float64);
  Gradients out;
  Var loss;
  if (fused) {
    const Var y = attention(
        qkv,
        {.batch = batch, .heads = heads, .lengths = tensor_of(lengths, {batch}), .causal = causal});
    out.y = y.value().to_vector();
    loss = sum(mul(y, tape.constant(weights)));
  } else {
    out.y.resize(static_cast<size_t>(batch * steps * d));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h) {
        const auto window = [&](int64_t part) {
          return col_range(row_range(qkv, b * steps, steps), part * d + h * size, size);
        };
        const Var y = composed_attention(window(0), window(1), window(2),
                                         lengths[static_cast<size_t>(b)], causal);
        const Doubles value = y.value().to_vector();
        for (int64_t t = 0; t < steps; ++t)
          for (int64_t c = 0; c < size; ++c)
            out.y[static_cast<size_t>((b * steps + t) * d + h * size + c)] =
                value[static_cast<size_t>(t * size + c)];
        const Var part = sum(
            mul(y, tape.constant(weights.row_range(b * steps, steps).col_range(h * size, size))));
        loss = loss ? add(loss, part) : part;
      }
  }
  tape.backward(loss);
  out.dqkv = qkv.grad().to_vector();
  return out;
}

// --- a Transformer in plain loops, from a parameter set's values

using Rows = std::vector<Doubles>;

class Plain {
 public:
  // `table`: positions in place of the sinusoids.
  Plain(const ParameterSet& set, const TransformerConfig& c, Doubles table = {})
      : set_(set), c_(c), table_(std::move(table)) {}

  Rows encode(const Ints& ids) const {
    Rows x = embed(ids, c_.shared_vocab ? "tgt_embedding" : "src_embedding");
    for (int64_t i = 0; i < c_.encoder_layers; ++i) {
      const std::string layer = concat("transformer.encoder.layers.", i);
      x = branch(x, layer + ".norm1",
                 [&](const Rows& in) { return attend(in, in, layer + ".self_attn", false); });
      x = branch(x, layer + ".norm2", [&](const Rows& in) { return feed(in, layer); });
    }
    return final_norms() ? norm(x, "transformer.encoder.norm") : x;
  }

  Rows decode(const Rows& memory, const Ints& ids) const {
    Rows x = embed(ids, "tgt_embedding");
    for (int64_t i = 0; i < c_.decoder_layers; ++i) {
      const std::string layer = concat("transformer.decoder.layers.", i);
      x = branch(x, layer + ".norm1",
                 [&](const Rows& in) { return attend(in, in, layer + ".self_attn", true); });
      x = branch(x, layer + ".norm2", [&](const Rows& in) {
        return attend(in, memory, layer + ".multihead_attn", false);
      });
      x = branch(x, layer + ".norm3", [&](const Rows& in) { return feed(in, layer); });
    }
    return final_norms() ? norm(x, "transformer.decoder.norm") : x;
  }

  // Sum over positions of the smoothed cross-entropy, with the head tied to the decoder's
  // embedding.
  double loss(const Rows& hidden, const Ints& targets) const {
    const Doubles w = value("tgt_embedding.weight");
    double total = 0;
    for (size_t t = 0; t < hidden.size(); ++t) {
      Doubles score(static_cast<size_t>(c_.tgt_vocab));
      double sum = 0, mean = 0;
      for (size_t v = 0; v < score.size(); ++v) {
        for (size_t i = 0; i < hidden[t].size(); ++i)
          score[v] += hidden[t][i] * w[v * hidden[t].size() + i];
        sum += std::exp(score[v]);
        mean += score[v] / static_cast<double>(score.size());
      }
      const double e = c_.head.loss.smoothing.epsilon;
      total += std::log(sum) - (1 - e) * score[static_cast<size_t>(targets[t])] - e * mean;
    }
    return total;
  }

 private:
  Doubles value(const std::string& name) const {
    for (const Parameter& p : set_.all())
      if (p.name == name) return p.value().to_vector();
    FAIL("no parameter " << name);
    return {};
  }

  bool final_norms() const { return c_.final_norms.value_or(c_.style.norm == NormOrder::pre); }

  Rows embed(const Ints& ids, const std::string& table) const {
    const Doubles w = value(table + ".weight");
    const auto d = static_cast<size_t>(c_.dim);
    Rows x;
    for (size_t t = 0; t < ids.size(); ++t) {
      Doubles row(d);
      for (size_t i = 0; i < d; ++i) {
        const double angle =
            static_cast<double>(t) *
            std::pow(1e4, -2.0 * static_cast<double>(i % (d / 2)) / static_cast<double>(d));
        row[i] = c_.embed_scale.value_or(std::sqrt(static_cast<double>(d))) *
                 w[static_cast<size_t>(ids[t]) * d + i];
        if (c_.style.positions == Positions::rotary) continue;
        row[i] += !table_.empty() ? table_[t * d + i]
                  : i < d / 2     ? std::sin(angle)
                                  : std::cos(angle);
      }
      x.push_back(row);
    }
    return x;
  }

  Rows affine(const Rows& x, const Doubles& w, const Doubles& b, size_t first, size_t count) const {
    Rows y;
    for (const Doubles& in : x) {
      Doubles row(count);
      for (size_t o = 0; o < count; ++o) {
        row[o] = b.empty() ? 0 : b[first + o];
        for (size_t i = 0; i < in.size(); ++i) row[o] += w[(first + o) * in.size() + i] * in[i];
      }
      y.push_back(row);
    }
    return y;
  }

  // A bias; nothing in a model without biases.
  Doubles bias(const std::string& name) const {
    return c_.style.linear_bias ? value(name) : Doubles();
  }

  // Divides each part of rows that is as long as w by the root of its mean square, times w.
  static void norm_parts(Rows& rows, const Doubles& w) {
    for (Doubles& row : rows)
      for (size_t first = 0; first < row.size(); first += w.size()) {
        double mean = 0;
        for (size_t i = 0; i < w.size(); ++i)
          mean += row[first + i] * row[first + i] / static_cast<double>(w.size());
        for (size_t i = 0; i < w.size(); ++i) row[first + i] *= w[i] / std::sqrt(mean + 1e-5);
      }
  }

  // Turns pair i of each head, elements i and size / 2 + i, by t * base^(-2 i / size).
  void rotate(Rows& rows, size_t size) const {
    for (size_t t = 0; t < rows.size(); ++t)
      for (size_t first = 0; first < rows[t].size(); first += size)
        for (size_t i = 0; i < size / 2; ++i) {
          double &a = rows[t][first + i], &b = rows[t][first + size / 2 + i];
          const double angle = static_cast<double>(t) *
                               std::pow(c_.style.rotary_base,
                                        -2 * static_cast<double>(i) / static_cast<double>(size));
          const std::complex<double> turned = std::polar(1.0, angle) * std::complex<double>(a, b);
          a = turned.real();
          b = turned.imag();
        }
  }

  // Repeats each head of keys or values for the heads of queries that share it.
  Rows spread(const Rows& x, size_t size, size_t group) const {
    Rows y;
    for (const Doubles& row : x) {
      y.emplace_back();
      for (size_t first = 0; first < row.size(); first += size)
        for (size_t k = 0; k < group; ++k)
          for (size_t i = 0; i < size; ++i) y.back().push_back(row[first + i]);
    }
    return y;
  }

  Rows attend(const Rows& x, const Rows& memory, const std::string& name, bool causal) const {
    const Doubles w = value(name + ".in_proj_weight"), b = bias(name + ".in_proj_bias");
    const auto d = static_cast<size_t>(c_.dim), heads = static_cast<size_t>(c_.heads),
               size = d / heads,
               kv = c_.style.kv_heads > 0 ? static_cast<size_t>(c_.style.kv_heads) : heads;
    Rows q = affine(x, w, b, 0, d), k = affine(memory, w, b, d, kv * size),
         v = affine(memory, w, b, d + kv * size, kv * size);
    if (c_.style.qk_norm) {
      norm_parts(q, value(name + ".q_norm.weight"));
      norm_parts(k, value(name + ".k_norm.weight"));
    }
    if (c_.style.positions == Positions::rotary && &x == &memory) {
      rotate(q, size);
      rotate(k, size);
    }
    k = spread(k, size, heads / kv);
    v = spread(v, size, heads / kv);
    Rows y;
    for (size_t t = 0; t < x.size(); ++t) {
      Doubles row(d);
      for (size_t h = 0; h < d; h += size) {
        double total = 0;
        const size_t seen = causal ? t + 1 : memory.size();
        for (size_t s = 0; s < seen; ++s) {
          double score = 0;
          for (size_t i = h; i < h + size; ++i) score += q[t][i] * k[s][i];
          const double share = std::exp(score / std::sqrt(static_cast<double>(size)));
          total += share;
          for (size_t i = h; i < h + size; ++i) row[i] += share * v[s][i];
        }
        for (size_t i = h; i < h + size; ++i) row[i] /= total;
      }
      y.push_back(row);
    }
    return affine(y, value(name + ".out_proj.weight"), bias(name + ".out_proj.bias"), 0, d);
  }

  Rows feed(const Rows& x, const std::string& layer) const {
    const auto width = static_cast<size_t>(c_.ffn);
    Rows inner =
        affine(x, value(layer + ".linear1.weight"), bias(layer + ".linear1.bias"), 0, width);
    for (Doubles& row : inner)
      for (double& v : row)
        v = c_.style.activation == Activation::relu ? std::max(v, 0.0) : v / (1 + std::exp(-v));
    if (c_.style.activation == Activation::swiglu) {
      const Rows up =
          affine(x, value(layer + ".linear3.weight"), bias(layer + ".linear3.bias"), 0, width);
      for (size_t t = 0; t < up.size(); ++t)
        for (size_t i = 0; i < width; ++i) inner[t][i] *= up[t][i];
    }
    return affine(inner, value(layer + ".linear2.weight"), bias(layer + ".linear2.bias"), 0,
                  static_cast<size_t>(c_.dim));
  }

  Rows norm(Rows x, const std::string& name) const {
    if (c_.style.norm_type == NormType::rms) {
      norm_parts(x, value(name + ".weight"));
      return x;
    }
    const Doubles w = value(name + ".weight"), b = value(name + ".bias");
    for (Doubles& row : x) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row)
        variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (size_t i = 0; i < row.size(); ++i)
        row[i] = (row[i] - mean) / std::sqrt(variance + 1e-5) * w[i] + b[i];
    }
    return x;
  }

  template <class F>
  Rows branch(const Rows& x, const std::string& name, F&& f) const {
    Rows y = f(c_.style.norm == NormOrder::pre ? norm(x, name) : x);
    for (size_t t = 0; t < x.size(); ++t)
      for (size_t i = 0; i < x[t].size(); ++i) y[t][i] += x[t][i];
    return c_.style.norm == NormOrder::pre ? y : norm(y, name);
  }

  const ParameterSet& set_;
  TransformerConfig c_;
  Doubles table_;
};

constexpr int32_t kPad = 1;

TransformerConfig small_config(NormOrder order) {
  return {.src_vocab = 13,
          .tgt_vocab = 11,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .dim = 12,
          .ffn = 18,
          .heads = 3,
          .dropout = 0,
          .style = {.norm = order},
          .head = {.loss = {.smoothing = {.epsilon = 0.1}}}};
}

// Norms and biases away from 1 and 0, where mistakes would hide.
void disturb(ParameterSet& set) {
  const Tensor& slab = set.values();
  for (const NamedView& p : set.named(slab))
    if (p.view.shape.rank() == 1) {
      const Doubles noise = random_values({{p.view.shape, -0.2, 0.2}}, stream_id(p.name))[0];
      for (size_t i = 0; i < noise.size(); ++i) p.view.as<double>()[i] += noise[i];
    }
}

struct SmallModel {
  explicit SmallModel(const TransformerConfig& c, DType dtype = DType::float64)
      : set({.dtype = dtype, .seed = 3}), model(set, c) {
    if (dtype == DType::float64) disturb(set);
  }
  ParameterSet set;
  Transformer model;
};

Tensor padded_ids(const std::vector<Ints>& sentences, int64_t width) {
  Ints all;
  for (Ints s : sentences) {
    s.resize(static_cast<size_t>(width), kPad);
    all.insert(all.end(), s.begin(), s.end());
  }
  return tensor_of(all, {static_cast<int64_t>(sentences.size()), width});
}

const std::vector<Ints> kSources = {{2, 3, 4, 5, 6}, {7, 8, 12}, {9}};
const std::vector<Ints> kInputs = {{2, 3, 4}, {2, 5, 6, 7, 8, 9, 10}, {2}};
const std::vector<Ints> kTargets = {{3, 4, 0}, {5, 6, 7, 8, 9, 10, 0}, {4}};

TranslationBatch small_batch(int64_t src_width = 5, int64_t tgt_width = 7) {
  return TranslationBatch::of_padded(padded_ids(kSources, src_width),
                                     padded_ids(kInputs, tgt_width),
                                     padded_ids(kTargets, tgt_width), kPad);
}

}  // namespace

TEST_CASE("attention: fused equals composed, values and gradients") {
  for (const bool causal : {false, true})
    for (const auto& shape :
         {std::array<int64_t, 4>{1, 1, 1, 1}, {2, 6, 3, 4}, {2, 67, 1, 5}, {3, 130, 2, 3}}) {
      const int64_t batch = shape[0], steps = shape[1], heads = shape[2], size = shape[3];
      CAPTURE(steps);
      CAPTURE(causal);
      const Doubles values = random_values({{{batch * steps, 3 * heads * size}, -2, 2}}, 5)[0];
      const Ints lengths = random_indices({{{batch}, 1, static_cast<int32_t>(steps) + 1}}, 6)[0];
      const Gradients fused =
          self_attention(values, batch, steps, heads, size, lengths, causal, true);
      const Gradients composed =
          self_attention(values, batch, steps, heads, size, lengths, causal, false);
      CHECK(relative_error(fused.y, composed.y) < 1e-12);
      CHECK(relative_error(fused.dqkv, composed.dqkv) < 1e-12);
    }
}

TEST_CASE("attention: scores far from zero neither overflow nor vanish, in float32") {
  for (const double shift : {-40.0, 40.0}) {
    const Tensor q = tensor_of({shift, shift, shift, -shift}, {2, 2}, DType::float32);
    const Tensor k = tensor_of({40, 40, 39.9, 40}, {2, 2}, DType::float32),
                 v = tensor_of({1, 2, 3, 4}, {2, 2}, DType::float32);
    const Tensor y({2, 2}, DType::float32), lse({1, 2}, DType::float32);
    ops::attention({.q = q, .k = k, .v = v, .y = y, .lse = lse});
    for (const double x : y.to_vector()) CHECK((x >= 1 && x <= 4));
  }
}

TEST_CASE("attention: padding is never read, not even NaN") {
  const int64_t steps = 5;
  Doubles values = random_values({{{2 * steps, 12}}}, 5)[0];
  const Ints lengths = {3, 0};
  const auto run = [&] {
    Arena pool("attention");
    Tape tape(pool);
    const Var q = tape.leaf(tensor_of(random_values({{{2, 6}}}, 6)[0], {2, 6}, DType::float64));
    const Var kv = tape.leaf(tensor_of(values, {2 * steps, 12}, DType::float64));
    const Var y = attention(q, kv, {.batch = 2, .heads = 2, .lengths = tensor_of(lengths, {2})});
    Gradients out{y.value().to_vector(), {}};
    tape.backward(sum_squares(y));
    out.dqkv = kv.grad().to_vector();
    return out;
  };
  const Gradients before = run();
  for (size_t row = 3; row < 10; ++row)
    std::fill_n(values.begin() + static_cast<int64_t>(row) * 12, 12, std::nan(""));
  const Gradients after = run();
  CHECK(after.y == before.y);
  CHECK(after.dqkv == before.dqkv);
  for (size_t i = 0; i < 6; ++i) CHECK(after.y[6 + i] == 0);  // nothing to attend to
  for (size_t i = 3 * 12; i < after.dqkv.size(); ++i) CHECK(after.dqkv[i] == 0);
}

TEST_CASE(
    "attention: a step of decoding from a cache gives the causal row, and beams share a memory") {
  const int64_t batch = 2, steps = 7, heads = 2, d = 6, capacity = 9;
  const Tensor qkv = tensor_of(random_values({{{batch * steps, 3 * d}, -2, 2}}, 5)[0],
                               {batch * steps, 3 * d}, DType::float64);
  const Tensor whole({batch * steps, d}, DType::float64),
      lse({batch * heads, steps}, DType::float64);
  ops::attention({.q = qkv.col_range(0, d),
                  .k = qkv.col_range(d, d),
                  .v = qkv.col_range(2 * d, d),
                  .y = whole,
                  .lse = lse,
                  .batch = batch,
                  .heads = heads,
                  .causal = true});
  const Tensor cache({batch * capacity, 2 * d}, DType::float64), q({batch, d}, DType::float64),
      y({batch, d}, DType::float64);
  const Tensor lengths({batch}, DType::int32), one_lse({batch * heads, 1}, DType::float64);
  ops::fill(cache, std::nan(""));
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t b = 0; b < batch; ++b) {
      ops::copy(qkv.row_range(b * steps + t, 1).col_range(d, 2 * d),
                cache.row_range(b * capacity + t, 1));
      ops::copy(qkv.row_range(b * steps + t, 1).col_range(0, d), q.row_range(b, 1));
    }
    ops::fill(lengths, static_cast<double>(t + 1));
    ops::attention({.q = q,
                    .k = cache.col_range(0, d),
                    .v = cache.col_range(d, d),
                    .y = y,
                    .lse = one_lse,
                    .lengths = lengths,
                    .batch = batch,
                    .heads = heads});
    for (int64_t b = 0; b < batch; ++b)
      CHECK(relative_error(y.row_range(b, 1).to_vector(),
                           whole.row_range(b * steps + t, 1).to_vector()) < 1e-13);
  }
  // The beams of a sentence are the queries of one batch element: the same as each with a memory of
  // its own.
  const Tensor beams({3, d}, DType::float64), apart({1, d}, DType::float64),
      three_lse({heads, 3}, DType::float64), row_lse({heads, 1}, DType::float64);
  const Tensor k = qkv.row_range(0, steps).col_range(d, d),
               v = qkv.row_range(0, steps).col_range(2 * d, d);
  ops::attention({.q = qkv.row_range(2, 3).col_range(0, d),
                  .k = k,
                  .v = v,
                  .y = beams,
                  .lse = three_lse,
                  .heads = heads});
  for (int64_t i = 0; i < 3; ++i) {
    ops::attention({.q = qkv.row_range(2 + i, 1).col_range(0, d),
                    .k = k,
                    .v = v,
                    .y = apart,
                    .lse = row_lse,
                    .heads = heads});
    CHECK(relative_error(apart.to_vector(), beams.row_range(i, 1).to_vector()) < 1e-13);
  }
}

TEST_CASE("attention: errors name the op, the shapes and the way out") {
  const Tensor q({6, 8}, DType::float32), k({4, 8}, DType::float32), lse({2, 3}, DType::float32),
      lengths = tensor_of(Ints{2, 3}, {2});
  const auto message = [&](ops::Attention io) { return error_of([&] { ops::attention(io); }); };
  const ops::Attention good{.q = q, .k = k, .v = k, .y = q, .lse = lse, .batch = 2, .heads = 1};
  ops::Attention a = good;
  a.heads = 3;
  CHECK(has(message(a), "[attention] 8 columns do not divide into 3 heads"));
  a = good;
  a.batch = 4;
  CHECK(has(message(a), "not multiples of the batch size 4"));
  a = good;
  a.causal = true;
  CHECK(has(message(a), "3 and 2; for a step of decoding, give key lengths"));
  a = good;
  a.lengths = lengths;
  CHECK(has(message(a), "length 3 at position 1 is outside of [0, 2]"));
  a = good;
  a.v = q;
  CHECK(has(message(a), "(6, 8)"));
}

TEST_CASE(
    "transformer: loss and every kind of parameter's gradient as in plain loops, post- and "
    "pre-norm, padding aside") {
  for (const NormOrder order : {NormOrder::post, NormOrder::pre})
    for (int kind = 0; kind < 3; ++kind) {
      CAPTURE(to_text(order));
      CAPTURE(kind);
      TransformerConfig config = small_config(order);
      if (kind > 0)
        config.style = {.activation = Activation::swiglu,
                        .positions = kind == 1 ? Positions::sinusoidal : Positions::rotary,
                        .rotary_base = 20,
                        .norm = order,
                        .norm_type = NormType::rms,
                        .kv_heads = 1,
                        .qk_norm = true,
                        .linear_bias = order == NormOrder::post};
      SmallModel small(config);
      const TranslationBatch batch = small_batch();
      CHECK(batch.tokens == 11);
      Arena pool("transformer");
      Tape tape(pool);
      const auto plain_loss = [&] {
        const Plain plain(small.set, config);
        double total = 0;
        for (size_t i = 0; i < kSources.size(); ++i)
          total += plain.loss(plain.decode(plain.encode(kSources[i]), kInputs[i]), kTargets[i]);
        return total / 11;
      };
      const SoftmaxLoss out = small.model.loss(tape, batch, 1.0 / 11);
      CHECK(out.loss.value().item() == doctest::Approx(plain_loss()).epsilon(1e-12));
      tape.backward(out.loss);
      small.set.zero_missing_grads();
      for (const Parameter& p : small.set.all()) {
        CAPTURE(p.name);
        double worst = 0, top = 0;
        for (const int64_t i : {int64_t{0}, p.value().elements() / 2, p.value().elements() - 1}) {
          double& x = p.value().data<double>()[i];
          const double before = x, h = 1e-5;
          x = before + h;
          const double above = plain_loss();
          x = before - h;
          const double below = plain_loss();
          x = before;
          worst = std::max(worst, std::abs((above - below) / (2 * h) - p.grad().data<double>()[i]));
          top = std::max(top, std::abs(p.grad().data<double>()[i]));
        }
        CHECK(worst < 1e-7 * (1 + top));
      }
    }
}

TEST_CASE(
    "transformer: another engine's positions, embed_scale and final norms as in plain loops") {
  TransformerConfig config = small_config(NormOrder::post);
  config.final_norms = true;
  config.embed_scale = 1.25;
  config.max_length = 9;
  SmallModel small(config);
  const Doubles table = random_values({{{9, 12}, -1, 1}}, 77)[0];
  CHECK(has(error_of([&] {
              small.model.use_positions(Tensor::from(table, {12, 9}));
            }),
            "positions have the shape (12, 9), the model needs (9, 12)"));
  small.model.use_positions(Tensor::from(table, {9, 12}));
  Arena pool("transformer");
  Tape tape(pool);
  const Plain plain(small.set, config, table);
  double total = 0;
  for (size_t i = 0; i < kSources.size(); ++i)
    total += plain.loss(plain.decode(plain.encode(kSources[i]), kInputs[i]), kTargets[i]);
  CHECK(small.model.loss(tape, small_batch(), 1.0 / 11).loss.value().item() ==
        doctest::Approx(total / 11).epsilon(1e-12));
}

TEST_CASE("transformer: wider padding changes no loss") {
  SmallModel small(small_config(NormOrder::post));
  Arena pool("transformer");
  Tape tape(pool);
  const double tight = small.model.loss(tape, small_batch(), 1).loss.value().item();
  tape.reset();
  const double wide = small.model.loss(tape, small_batch(9, 12), 1).loss.value().item();
  CHECK(wide == doctest::Approx(tight).epsilon(1e-13));
}

TEST_CASE("transformer: layers that are computed again have the same bits, in less memory") {
  for (const Positions positions : {Positions::sinusoidal, Positions::rotary})
    for (const NormOrder order : {NormOrder::post, NormOrder::pre}) {
      TransformerConfig config = small_config(order);
      config.style.positions = positions;
      config.dropout = config.attention_dropout = 0.2;
      config.encoder_layers = config.decoder_layers = 3;
      const auto bits = [&](bool recompute) {
        config.recompute = recompute;
        SmallModel small(config, DType::float32);
        Arena pool("transformer");
        Tape tape(pool);
        tape.set_random_key({.seed = 3, .step = 1});
        const SoftmaxLoss out = small.model.loss(tape, small_batch(), 1.0 / 11);
        const size_t kept = pool.saved_mark();
        std::vector<Doubles> found{{out.loss.value().item()}};
        tape.backward(out.loss);
        for (const Parameter& p : small.set.all()) found.push_back(p.grad().to_vector());
        return std::pair(found, kept);
      };
      const auto kept = bits(false), again = bits(true);
      CHECK(again.first == kept.first);
      CHECK(again.second < kept.second / 2);
    }
}

TEST_CASE("transformer: names and shapes are torch.nn.Transformer's; ties are written once") {
  const auto names = [](const TransformerConfig& c) {
    std::set<std::string> all;
    ParameterSet set;
    const Transformer model(set, c);
    for (const Parameter& p : set.all()) all.insert(concat(p.name, " ", p.value().shape()));
    return all;
  };
  TransformerConfig c = small_config(NormOrder::post);
  c.encoder_layers = c.decoder_layers = 1;
  const std::string e = "transformer.encoder.layers.0.", d = "transformer.decoder.layers.0.";
  std::set<std::string> expected = {"src_embedding.weight (13, 12)",
                                    "tgt_embedding.weight (11, 12)"};
  const auto add_layer = [&](const std::string& layer,
                             std::initializer_list<const char*> attentions, int norms) {
    for (const std::string a : attentions)
      for (const char* part : {"in_proj_weight (36, 12)", "in_proj_bias (36)",
                               "out_proj.weight (12, 12)", "out_proj.bias (12)"})
        expected.insert(layer + a + "." + part);
    for (const char* part : {"linear1.weight (18, 12)", "linear1.bias (18)",
                             "linear2.weight (12, 18)", "linear2.bias (12)"})
      expected.insert(layer + part);
    for (int i = 1; i <= norms; ++i)
      for (const char* part : {"weight", "bias"})
        expected.insert(concat(layer, "norm", i, ".", part, " (12)"));
  };
  add_layer(e, {"self_attn"}, 2);
  add_layer(d, {"self_attn", "multihead_attn"}, 3);
  CHECK(names(c) == expected);
  c.style.norm = NormOrder::pre;
  for (const char* side : {"encoder", "decoder"})
    for (const char* part : {"weight", "bias"})
      expected.insert(concat("transformer.", side, ".norm.", part, " (12)"));
  CHECK(names(c) == expected);
  c.shared_vocab = true;
  c.src_vocab = c.tgt_vocab;
  expected.erase("src_embedding.weight (13, 12)");
  CHECK(names(c) == expected);
  c.tie_embeddings = false;
  c.head.bias = true;
  expected.merge(std::set<std::string>{"head.weight (11, 12)", "head.bias (11)"});
  CHECK(names(c) == expected);
}

TEST_CASE("transformer: what cannot be is an Error") {
  const auto message = [](TransformerConfig c) {
    return error_of([&] {
      ParameterSet set;
      const Transformer model(set, c);
    });
  };
  TransformerConfig c = small_config(NormOrder::post);
  c.heads = 5;
  CHECK(has(message(c), "hidden size 12 is not divisible by number of attention heads 5"));
  c = small_config(NormOrder::post);
  c.dim = 9;
  CHECK(has(message(c), "even"));
  c = small_config(NormOrder::post);
  c.style.positions = Positions::rotary;
  c.dim = 9;
  CHECK(has(message(c), "heads of 3 numbers: rotary positions rotate pairs"));
  c = small_config(NormOrder::post);
  c.style.positions = Positions::learned;
  CHECK(has(message(c), "a translation model has no learned positions"));
  c = small_config(NormOrder::post);
  c.shared_vocab = true;
  CHECK(has(message(c), "13 words in the source and 11"));
  c = small_config(NormOrder::post);
  c.max_length = 6;
  SmallModel small(c);
  Arena pool("transformer");
  Tape tape(pool);
  CHECK(has(error_of([&] { small.model.loss(tape, small_batch(), 1); }), "at most 6 positions"));
}

TEST_CASE(
    "transformer: steps with dropout learn a few pairs by heart, in two micro-batches as in one, "
    "with the same bits at any thread count") {
  const auto train = [](int count, int parts, double dropout, int64_t steps) {
    const Restore restore;
    set_threads(count);
    TransformerConfig c = small_config(NormOrder::post);
    c.dropout = dropout;
    c.head.loss.smoothing = {};
    SmallModel small(c, DType::float32);
    int64_t fetched = 0;
    // Every micro-batch holds all pairs, so that an update's mean is the same.
    TranslationSource data(small.model, [&](TranslationBatch& batch) {
      ++fetched;
      batch = small_batch();
      return true;
    });
    Arena pool("step");
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(small.set, {.beta2 = 0.98});
    TrainStep step(small.set, *optimizer, pool, {.accumulate = parts});
    std::vector<double> losses;
    for (int64_t i = 1; i <= steps; ++i) losses.push_back(step.run(data, i, 5e-3).loss);
    CHECK(fetched == steps * parts);
    return std::pair(losses, small.set.values().to_vector());
  };
  const auto one = train(1, 1, 0.1, 60);
  CHECK(one.first.front() > 1.5);
  CHECK(one.first.back() < 0.5 * one.first.front());
  CHECK(train(3, 1, 0.1, 60) == one);
  const std::vector<double> whole = train(1, 1, 0, 3).first, halves = train(1, 2, 0, 3).first;
  for (size_t i = 0; i < 3; ++i) CHECK(halves[i] == doctest::Approx(whole[i]).epsilon(1e-5));
}

TEST_CASE("TranslationSource: a source at its end is an Error") {
  SmallModel small(small_config(NormOrder::post));
  TranslationSource data(small.model, [](TranslationBatch&) { return false; });
  CHECK(has(error_of([&] { data.fetch(1); }), "[TranslationSource]"));
}

TEST_CASE(
    "parity export of translation: weights before and after, batches as ids with padding, a loss a "
    "step; dropout is refused") {
  const TemporaryDirectory directory;
  const auto run = [&](const TransformerConfig& c) {
    SmallModel small(c, DType::float32);
    TranslationSource data(small.model, [](TranslationBatch& batch) {
      batch = small_batch();
      return true;
    });
    app::export_mt_parity({.directory = directory / "parity", .steps = 2, .pad = kPad}, small.model,
                          small.set, data);
  };
  TransformerConfig c = small_config(NormOrder::post);
  c.dropout = 0.1;
  CHECK(has(error_of([&] { run(c); }), "--dropout 0"));
  run(small_config(NormOrder::post));
  const auto read = [&](const char* name) {
    return read_safetensors(directory / (std::string("parity/") + name));
  };
  const Safetensors init = read("init.safetensors"), last = read("final.safetensors"),
                    batches = read("batches.safetensors");
  CHECK(init.at("positions").shape() == Shape{1024, 12});
  CHECK(init.metadata.at("tied") == "head.weight=tgt_embedding.weight");
  CHECK(init.at("tgt_embedding.weight").to_vector() != last.at("tgt_embedding.weight").to_vector());
  CHECK(batches.tensors.size() == 6);
  CHECK(batches.at("tgt_out.1").to_vector() == padded_ids(kTargets, 7).to_vector());
}

}  // namespace nine::tests::test_transformer
