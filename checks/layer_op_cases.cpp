// Cases of linear maps, embeddings, layer norm, LSTM and attention.
#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "autograd/functions.h"
#include "checks/op_case_groups.h"
#include "checks/oracles.h"

namespace nine::checks {
namespace {

OpCase linear_case(const Shape& x, int64_t out, bool bias) {
  OpCase c{.name = concat("linear ", x, " to ", out, bias ? " with bias" : ""),
           .inputs = {{x}, {{out, x.cols()}}},
           .run = [bias](Vars v, Tensors) { return linear(v[0], v[1], bias ? v[2] : Var()); },
           .oracle =
               [=](Values v, AllInts) {
                 const Doubles y = product(v[0], false, v[1], true, x.rows(), out, x.cols());
                 return bias ? pairwise(y, v[2], [](double a, double b) { return a + b; }) : y;
               }};
  if (bias) c.inputs.push_back({{out}});
  return c;
}

OpCase embedding_case(int64_t words, int64_t d, const Shape& ids, bool bench = false) {
  return {.name = concat("embedding", sizes({words, d}), " ids ", ids),
          .inputs = {{{words, d}}},
          .indices = {{ids, 0, static_cast<int32_t>(words)}},
          .run = [](Vars x, Tensors i) { return embedding(x[0], i[0]); },
          .oracle =
              [d](Values x, AllInts i) {
                Doubles y;
                for (const int32_t id : i[0])
                  y.insert(y.end(), x[0].begin() + id * d, x[0].begin() + (id + 1) * d);
                return y;
              },
          .bench = bench};
}

OpCase layer_norm_case(const Shape& shape, bool bench = false) {
  const int64_t d = shape.cols();
  return {.name = concat("layer_norm ", shape),
          .inputs = {{shape}, {{d}, 0.5, 1.5}, {{d}}},
          .run = [](Vars x, Tensors) { return layer_norm(x[0], x[1], x[2], 1e-3); },
          .oracle = [](Values x, AllInts) { return layer_norm_of(x[0], x[1], x[2], 1e-3); },
          .bench = bench};
}

// Large, because the gradient of a short row is otherwise a difference that float32 cannot hold.
constexpr double kRmsEps = 0.5;

// Parts of d columns each.
OpCase rms_norm_case(const Shape& shape, int64_t d, bool bench = false) {
  return {.name = concat("rms_norm ", shape, " in parts of ", d),
          .inputs = {{shape}, {{d}, 0.5, 1.5}},
          .run = [](Vars x, Tensors) { return rms_norm(x[0], x[1], kRmsEps); },
          .oracle = [](Values x, AllInts) { return rms_norm_of(x[0], x[1], kRmsEps); },
          .bench = bench};
}

// Norms of a columns in parts of 3 and of b columns in parts of 2; c columns are copied.
OpCase rms_norm_columns_case(int64_t rows, int64_t a, int64_t b, int64_t c) {
  const int64_t all = a + b + c;
  OpCase made{.name = concat("rms_norm_columns", sizes({rows, a, b, c})),
              .inputs = {{{rows, all}}, {{3}, 0.5, 1.5}},
              .run =
                  [=](Vars x, Tensors) {
                    return rms_norm_columns(x[0], {x[1], a},
                                            b > 0 ? NormedColumns{x[2], b} : NormedColumns{}, 1e-3);
                  },
              .oracle =
                  [=](Values x, AllInts) {
                    Doubles y, second;
                    const Doubles first = rms_norm_of(columns(x[0], all, 0, a), x[1], 1e-3),
                                  rest = columns(x[0], all, a + b, c);
                    if (b > 0) second = rms_norm_of(columns(x[0], all, a, b), x[2], 1e-3);
                    for (int64_t r = 0; r < rows; ++r)
                      for (const auto& [part, n] :
                           {std::pair(&first, a), std::pair(&std::as_const(second), b),
                            std::pair(&rest, c)})
                        y.insert(y.end(), part->begin() + r * n, part->begin() + (r + 1) * n);
                    return y;
                  }};
  if (b > 0) made.inputs.push_back({{2}, 0.5, 1.5});
  return made;
}

// Rotates `heads` heads of `size` numbers and copies `rest` columns.
OpCase rotary_case(int64_t sequences, int64_t steps, int64_t heads, int64_t size, int64_t rest) {
  const int64_t half = size / 2, cols = heads * size + rest;
  Doubles angles;  // cosines and sines
  for (int64_t t = 0; t < steps; ++t)
    for (const bool sine : {false, true})
      for (int64_t i = 0; i < half; ++i) {
        const double angle = 0.3 * static_cast<double>(t) / static_cast<double>(i + 1);
        angles.push_back(sine ? std::sin(angle) : std::cos(angle));
      }
  return {.name = concat("rotary", sizes({sequences, steps, heads, size, rest})),
          .inputs = {{{sequences * steps, cols}}},
          .run =
              [=](Vars x, Tensors) {
                return rotary(x[0],
                              x[0].tape().on_device(tensor_of(angles, {steps, size}, x[0].dtype())),
                              heads * size);
              },
          .oracle =
              [=](Values x, AllInts) {
                // Complex numbers times e^(i angle).
                Doubles y = x[0];
                for (int64_t r = 0; r < sequences * steps; ++r)
                  for (int64_t h = 0; h < heads; ++h)
                    for (int64_t i = 0; i < half; ++i) {
                      const size_t at = index_of(r * cols + h * size + i),
                                   other = at + index_of(half);
                      const double angle =
                          0.3 * static_cast<double>(r % steps) / static_cast<double>(i + 1);
                      const std::complex<double> turned =
                          std::polar(1.0, angle) * std::complex<double>(x[0][at], x[0][other]);
                      y[at] = turned.real();
                      y[other] = turned.imag();
                    }
                return y;
              }};
}

OpCase lstm_case(int64_t steps, int64_t batch, int64_t input, int64_t hidden, bool bench = false) {
  return {.name = concat("lstm", sizes({steps, batch, input, hidden})),
          .inputs = {{{steps * batch, input}},
                     {{4 * hidden, input}, -0.4, 0.4},
                     {{4 * hidden, hidden}, -0.4, 0.4},
                     {{4 * hidden}},
                     {{4 * hidden}},
                     {{batch, hidden}},
                     {{batch, hidden}}},
          .run =
              [](Vars x, Tensors) {
                const LstmOutput out = lstm(x[0], {x[1], x[2], x[3], x[4]}, {x[5], x[6]});
                const Var parts[] = {out.y, out.last.h, out.last.c};
                return concat_rows(parts);
              },
          .oracle = [=](Values x, AllInts) { return lstm_of(x, steps, batch, input, hidden); },
          .checked = 12,
          .bench = bench};
}

struct AttentionCase {
  int64_t batch, queries, keys, heads, size;
  bool causal = false;
  Indices lengths = {{0}};  // no elements: no padding
  double dropout = 0;
};

std::string name_of(const char* kind, const AttentionCase& a) {
  const std::string padding = a.lengths.shape.elements() > 0
                                  ? concat(" lengths ", a.lengths.low, " to ", a.lengths.high - 1)
                                  : "";
  return concat("attention ", kind, sizes({a.batch, a.queries, a.keys, a.heads, a.size}),
                a.causal ? " causal" : "", padding,
                a.dropout > 0 ? concat(" dropout ", a.dropout) : "");
}
AttentionShape shape_of(const AttentionCase& a, Tensors indices) {
  return {.batch = a.batch,
          .heads = a.heads,
          .lengths = indices[0].elements() > 0 ? indices[0] : Tensor(),
          .causal = a.causal,
          .dropout = a.dropout,
          .stream = "dropout.test"};
}

OpCase self_attention_case(const AttentionCase& a, bool bench = false) {
  const int64_t d = a.heads * a.size;
  return {.name = name_of("of one matrix", a),
          .inputs = {{{a.batch * a.queries, 3 * d}, -2, 2}},
          .indices = {a.lengths},
          .run = [a](Vars x, Tensors i) { return attention(x[0], shape_of(a, i)); },
          .oracle =
              [a, d](Values x, AllInts i) {
                const auto part = [&](int64_t first) { return columns(x[0], 3 * d, first, d); };
                return attention_of(part(0), part(d), part(2 * d), a.batch, a.heads, d, i[0],
                                    a.causal, a.dropout);
              },
          .bench = bench};
}

OpCase attention_case(const AttentionCase& a, bool bench = false) {
  const int64_t d = a.heads * a.size;
  return {.name = name_of("of two", a),
          .inputs = {{{a.batch * a.queries, d}, -2, 2}, {{a.batch * a.keys, 2 * d}, -2, 2}},
          .indices = {a.lengths},
          .run = [a](Vars x, Tensors i) { return attention(x[0], x[1], shape_of(a, i)); },
          .oracle =
              [a, d](Values x, AllInts i) {
                return attention_of(x[0], columns(x[1], 2 * d, 0, d), columns(x[1], 2 * d, d, d),
                                    a.batch, a.heads, d, i[0], a.causal, a.dropout);
              },
          .bench = bench};
}

// Self-attention with fewer heads of keys than of queries: the oracle repeats keys and values.
OpCase grouped_attention_case(const AttentionCase& a, int64_t kv_heads) {
  const int64_t d = a.heads * a.size, width = kv_heads * a.size, all = d + 2 * width;
  return {.name = concat(name_of("with heads of keys: ", a), " ", kv_heads),
          .inputs = {{{a.batch * a.queries, all}, -2, 2}},
          .indices = {a.lengths},
          .run =
              [=](Vars x, Tensors i) {
                AttentionShape shape = shape_of(a, i);
                shape.kv_heads = kv_heads;
                return attention(x[0], shape);
              },
          .oracle =
              [=](Values x, AllInts i) {
                const auto repeated = [&](int64_t first) {
                  Doubles y;
                  for (int64_t r = 0; r < a.batch * a.queries; ++r)
                    for (int64_t h = 0; h < a.heads; ++h)
                      for (int64_t c = 0; c < a.size; ++c)
                        y.push_back(
                            x[0][index_of(r * all + first + h * kv_heads / a.heads * a.size + c)]);
                  return y;
                };
                return attention_of(columns(x[0], all, 0, d), repeated(d), repeated(d + width),
                                    a.batch, a.heads, d, i[0], a.causal, a.dropout);
              }};
}

OpCase linear_relu_case(int64_t rows, int64_t in, int64_t out) {
  return {.name = concat("linear_relu", sizes({rows, in, out})),
          .inputs = {{{rows, in}}, {{out, in}}, {{out}}},
          .run = [](Vars x, Tensors) { return linear_relu(x[0], x[1], x[2]); },
          .oracle =
              [=](Values x, AllInts) {
                return pairwise(product(x[0], false, x[1], true, rows, out, in), x[2],
                                [](double a, double b) { return std::max(a + b, 0.0); });
              }};
}

OpCase linear_bias_dropout_add_case(int64_t rows, int64_t in, int64_t out, double p,
                                    bool bias = true) {
  OpCase c{.name = concat("linear_bias_dropout_add", sizes({rows, in, out}), " p ", p,
                          bias ? "" : " without bias"),
           .inputs = {{{rows, in}}, {{out, in}}, {{rows, out}}},
           .run =
               [=](Vars x, Tensors) {
                 return linear_bias_dropout_add(x[0], x[1], bias ? x[3] : Var(), x[2], p,
                                                "dropout.test");
               },
           .oracle =
               [=](Values x, AllInts) {
                 Doubles y = product(x[0], false, x[1], true, rows, out, in);
                 if (bias) y = pairwise(y, x[3], [](double a, double b) { return a + b; });
                 const RandomKey key{.op = stream_id("dropout.test")};
                 for (size_t i = 0; i < y.size(); ++i)
                   y[i] = x[2][i] +
                          (random_uniform(key, i) >= static_cast<float>(p) ? y[i] / (1 - p) : 0);
                 return y;
               }};
  if (bias) c.inputs.push_back({{out}});
  return c;
}

// The table of positions has more rows than there are steps.
OpCase embedding_with_positions_case(int64_t words, int64_t d, int64_t batch, int64_t steps) {
  const Doubles positions = random_values({{{steps + 2, d}}}, 5)[0];
  return {.name = concat("embedding_with_positions", sizes({words, d, batch, steps})),
          .inputs = {{{words, d}}},
          .indices = {{{batch, steps}, 0, static_cast<int32_t>(words)}},
          .run =
              [=](Vars x, Tensors i) {
                return embedding_with_positions(
                    x[0], i[0], 1.5,
                    x[0].tape().on_device(tensor_of(positions, {steps + 2, d}, x[0].dtype())));
              },
          .oracle =
              [=](Values x, AllInts ids) {
                Doubles y;
                for (int64_t r = 0; r < batch * steps; ++r)
                  for (int64_t c = 0; c < d; ++c)
                    y.push_back(1.5 * x[0][index_of(ids[0][index_of(r)] * d + c)] +
                                positions[index_of(r % steps * d + c)]);
                return y;
              }};
}

void add_attention(std::vector<OpCase>& all) {
  for (const bool causal : {false, true}) {
    all.push_back(self_attention_case({1, 1, 1, 1, 1, causal}));
    all.push_back(self_attention_case({2, 5, 5, 2, 3, causal}));
    all.push_back(self_attention_case({3, 7, 7, 2, 4, causal, {{3}, 1, 8}}));
    // Several tiles of queries, the last one not full.
    all.push_back(self_attention_case({2, 150, 150, 1, 5, causal}));
    all.push_back(self_attention_case({2, 70, 70, 2, 17, causal, {{2}, 1, 71}}));
    all.push_back(self_attention_case({2, 150, 150, 2, 5, causal, {{0}}, 0.3}));
    all.push_back(self_attention_case({3, 7, 7, 2, 4, causal, {{3}, 0, 8}, 0.6}));
    // All keys are padding.
    all.push_back(self_attention_case({2, 4, 4, 2, 3, causal, {{2}, 0, 1}}));
    all.push_back(self_attention_case({64, 24, 24, 4, 128, causal}, true));
  }
  for (const bool causal : {false, true}) {
    all.push_back(grouped_attention_case({2, 5, 5, 4, 3, causal}, 2));
    all.push_back(grouped_attention_case({2, 70, 70, 6, 5, causal, {{2}, 0, 71}}, 1));
    all.push_back(grouped_attention_case({2, 150, 150, 4, 17, causal, {{0}}, 0.3}, 2));
  }
  all.push_back(attention_case({3, 1, 9, 2, 3, false, {{3}, 1, 10}}));  // a step of decoding
  all.push_back(attention_case({2, 5, 1, 1, 2}));
  all.push_back(attention_case({2, 66, 80, 2, 9, false, {{2}, 0, 81}}));
  all.push_back(attention_case({1, 3, 130, 4, 2}));
  all.push_back(attention_case({2, 66, 9, 2, 3, false, {{2}, 0, 10}, 0.4}));
}

}  // namespace

void add_layer_cases(std::vector<OpCase>& all) {
  all.push_back(linear_case({9}, 4, true));
  all.push_back(linear_case({33, 17}, 65, true));
  all.push_back(linear_case({2, 5, 8}, 3, true));
  all.push_back(linear_case({5, 8}, 66, false));
  all.push_back(embedding_case(11, 5, {7}));
  all.push_back(embedding_case(3, 130, {6, 50}));
  all.push_back(embedding_case(1, 1, {1}));
  all.push_back(embedding_case(10000, 512, {640}, true));
  for (const Shape& s : {Shape{1, 1}, Shape{3, 5}, Shape{2, 3, 4}, Shape{70, 300}})
    all.push_back(layer_norm_case(s));
  for (const Shape& s : {Shape{1, 1}, Shape{3, 5}, Shape{2, 3, 4}, Shape{70, 300}})
    all.push_back(rms_norm_case(s, s.cols()));
  all.push_back(rms_norm_case({70, 300}, 20));
  all.push_back(rms_norm_case({640, 512}, 512, true));
  all.push_back(rms_norm_columns_case(4, 6, 4, 5));
  all.push_back(rms_norm_columns_case(70, 3, 0, 9));
  all.push_back(rms_norm_columns_case(3, 9, 2, 0));
  all.push_back(rotary_case(1, 1, 1, 2, 0));
  all.push_back(rotary_case(3, 7, 2, 6, 5));
  all.push_back(rotary_case(2, 40, 3, 34, 0));
  all.push_back(layer_norm_case({640, 512}, true));
  all.push_back(lstm_case(1, 1, 1, 1));
  all.push_back(lstm_case(3, 2, 4, 5));
  all.push_back(lstm_case(2, 66, 3, 17));
  all.push_back(lstm_case(3, 3, 7, 130));
  all.push_back(lstm_case(35, 20, 512, 512, true));
  all.push_back(linear_relu_case(1, 1, 1));
  all.push_back(linear_relu_case(70, 9, 67));
  for (const double p : {0.0, 0.3}) {
    all.push_back(linear_bias_dropout_add_case(1, 1, 1, p));
    // Rows of 65 start in the middle of a Philox block of four numbers.
    all.push_back(linear_bias_dropout_add_case(33, 17, 65, p));
    all.push_back(linear_bias_dropout_add_case(33, 17, 65, p, false));
  }
  all.push_back(embedding_with_positions_case(1, 1, 1, 1));
  all.push_back(embedding_with_positions_case(11, 5, 3, 7));
  add_attention(all);
}

void add_random_layer_cases(std::vector<OpCase>& all, RandomSize& n) {
  all.push_back(linear_case({n(), n()}, n(), true));
  all.push_back(linear_case({n(), n()}, n(), false));
  all.push_back(linear_relu_case(n(), n(), n()));
  all.push_back(linear_bias_dropout_add_case(n(), n(), n(), 0.3));
  all.push_back(embedding_case(n(), n(), {n()}));
  all.push_back(embedding_with_positions_case(n(), n(), n(), n()));
  all.push_back(layer_norm_case({n(), n() + 1}));
  const int64_t part = n();
  all.push_back(rms_norm_case({n(), part * (n() % 4 + 1)}, part));
  all.push_back(rotary_case(n(), n(), n() % 4 + 1, 2 * n(), n()));
  all.push_back(lstm_case(n(), n(), n(), n()));
  const int64_t batch = n(), keys = n(), steps = n();
  all.push_back(self_attention_case(
      {batch, steps, steps, n(), n(), true, {{batch}, 1, static_cast<int32_t>(steps) + 1}}));
  all.push_back(attention_case(
      {batch, n(), keys, n(), n(), false, {{batch}, 0, static_cast<int32_t>(keys) + 1}}));
}

}  // namespace nine::checks
