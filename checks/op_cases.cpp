#include "checks/op_cases.h"

#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "checks/oracles.h"
#include "core/ops.h"
#include "examples/softplus.h"
#include "kernels/kernel_softmax.h"

namespace nine::checks {
namespace {

std::string sizes(std::initializer_list<int64_t> all) {
  std::string text;
  for (const int64_t n : all) text += (text.empty() ? " " : "x") + std::to_string(n);
  return text;
}

OpCase unary_case(const char* name, Var (*f)(const Var&), double (*oracle)(double),
                  const Shape& shape, double low, double high) {
  return {.name = concat(name, " ", shape),
          .inputs = {{shape, low, high}},
          .run = [f](Vars x, Tensors) { return f(x[0]); },
          .oracle = [oracle](Values x, AllInts) { return each(x[0], oracle); }};
}

OpCase binary_case(const char* name, Var (*f)(const Var&, const Var&),
                   double (*oracle)(double, double), const Shape& a, const Shape& b) {
  return {.name = concat(name, " ", a, " ", b),
          .inputs = {{a}, {b, 0.5, 2}},
          .run = [f](Vars x, Tensors) { return f(x[0], x[1]); },
          .oracle = [oracle](Values x, AllInts) { return pairwise(x[0], x[1], oracle); }};
}

OpCase matmul_case(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool bench = false) {
  return {.name = concat("matmul", sizes({m, n, k}), ta ? " a'" : "", tb ? " b'" : ""),
          .inputs = {{ta ? Shape{k, m} : Shape{m, k}}, {tb ? Shape{n, k} : Shape{k, n}}},
          .run = [ta, tb](Vars x, Tensors) { return matmul(x[0], x[1], ta, tb); },
          .oracle = [=](Values x, AllInts) { return product(x[0], ta, x[1], tb, m, n, k); },
          .checked = m * n * k > 100000 ? 10 : 30,
          .bench = bench};
}

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

OpCase column_sums_case(const Shape& shape) {
  return {.name = concat("column_sums ", shape),
          .inputs = {{shape}},
          .run = [](Vars x, Tensors) { return column_sums(x[0]); },
          .oracle = [n = shape.cols()](Values x, AllInts) { return column_sums(x[0], n); }};
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

OpCase dropout_case(const Shape& shape, double p) {
  return {.name = concat("dropout ", shape, " p ", p),
          .inputs = {{shape}},
          .run = [p](Vars x, Tensors) { return dropout(x[0], p, "dropout.test"); },
          .oracle =
              [p](Values x, AllInts) {
                Doubles y = x[0];
                const RandomKey key{.op = stream_id("dropout.test")};
                for (size_t i = 0; i < y.size(); ++i)
                  y[i] = random_uniform(key, i) >= static_cast<float>(p) ? y[i] / (1 - p) : 0;
                return y;
              }};
}

// Rows (steps * batch, width) with one mask for all steps.
OpCase variational_dropout_case(int64_t steps, int64_t batch, int64_t width, double p) {
  return {.name = concat("dropout locked", sizes({steps, batch, width}), " p ", p),
          .inputs = {{{steps * batch, width}}},
          .run = [p, batch](Vars x, Tensors) { return dropout(x[0], p, "dropout.test", batch); },
          .oracle =
              [p, n = index_of(batch * width)](Values x, AllInts) {
                Doubles y = x[0];
                const RandomKey key{.op = stream_id("dropout.test")};
                for (size_t i = 0; i < y.size(); ++i)
                  y[i] = random_uniform(key, i % n) >= static_cast<float>(p) ? y[i] / (1 - p) : 0;
                return y;
              }};
}

OpCase dropout_words_case(int64_t rows, int64_t width, int32_t words, double p) {
  return {.name = concat("dropout_words", sizes({rows, width, words}), " p ", p),
          .inputs = {{{rows, width}}},
          .indices = {{{rows}, 0, words}},
          .run = [p](Vars x, Tensors i) { return dropout_words(x[0], i[0], p, "dropout.test"); },
          .oracle =
              [p, width](Values x, AllInts ids) {
                Doubles y = x[0];
                const RandomKey key{.op = stream_id("dropout.test")};
                for (size_t i = 0; i < y.size(); ++i) {
                  const auto word = static_cast<uint64_t>(ids[0][i / index_of(width)]);
                  y[i] = random_uniform(key, word) >= static_cast<float>(p) ? y[i] / (1 - p) : 0;
                }
                return y;
              }};
}

OpCase layer_norm_case(const Shape& shape, bool bench = false) {
  const int64_t d = shape.cols();
  return {.name = concat("layer_norm ", shape),
          .inputs = {{shape}, {{d}, 0.5, 1.5}, {{d}}},
          .run = [](Vars x, Tensors) { return layer_norm(x[0], x[1], x[2], 1e-3); },
          .oracle = [](Values x, AllInts) { return layer_norm_of(x[0], x[1], x[2], 1e-3); },
          .bench = bench};
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
  Indices lengths = {{0}};  // of no elements: no padding
};

std::string name_of(const char* kind, const AttentionCase& a) {
  const std::string padding = a.lengths.shape.elements() > 0
                                  ? concat(" lengths ", a.lengths.low, " to ", a.lengths.high - 1)
                                  : "";
  return concat("attention ", kind, sizes({a.batch, a.queries, a.keys, a.heads, a.size}),
                a.causal ? " causal" : "", padding);
}
AttentionShape shape_of(const AttentionCase& a, Tensors indices) {
  return {.batch = a.batch,
          .heads = a.heads,
          .lengths = indices[0].elements() > 0 ? indices[0] : Tensor(),
          .causal = a.causal};
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
                                    a.causal);
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
                                    a.batch, a.heads, d, i[0], a.causal);
              },
          .bench = bench};
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

OpCase linear_bias_dropout_add_case(int64_t rows, int64_t in, int64_t out, double p) {
  return {.name = concat("linear_bias_dropout_add", sizes({rows, in, out}), " p ", p),
          .inputs = {{{rows, in}}, {{out, in}}, {{out}}, {{rows, out}}},
          .run =
              [p](Vars x, Tensors) {
                return linear_bias_dropout_add(x[0], x[1], x[2], x[3], p, "dropout.test");
              },
          .oracle =
              [=](Values x, AllInts) {
                Doubles y = pairwise(product(x[0], false, x[1], true, rows, out, in), x[2],
                                     [](double a, double b) { return a + b; });
                const RandomKey key{.op = stream_id("dropout.test")};
                for (size_t i = 0; i < y.size(); ++i)
                  y[i] = x[3][i] +
                         (random_uniform(key, i) >= static_cast<float>(p) ? y[i] / (1 - p) : 0);
                return y;
              }};
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

OpCase log_softmax_case(const Shape& shape, double low = -3, double high = 3) {
  return {.name = concat("log_softmax ", shape, " from ", low, " to ", high),
          .inputs = {{shape, low, high}},
          .run = [](Vars x, Tensors) { return log_softmax(x[0]); },
          .oracle = [n = shape.cols()](Values x, AllInts) { return log_softmax_of(x[0], n); }};
}

OpCase nll_case(int64_t rows, int64_t cols) {
  return {.name = concat("nll", sizes({rows, cols})),
          .inputs = {{{rows, cols}, -3, -1}},
          .indices = {{{rows}, -1, static_cast<int32_t>(cols)}},
          .run = [](Vars x, Tensors i) { return nll(x[0], i[0], 0.3); },
          .oracle = [cols](Values x, AllInts i) { return Doubles{nll_of(x[0], i[0], cols, 0.3)}; }};
}

OpCase kernel_softmax_case(int64_t rows, int64_t words, int64_t d, bool bias, bool bench = false) {
  OpCase c{.name = concat("kernel_softmax", sizes({rows, words, d}), bias ? " with bias" : ""),
           .inputs = {{{rows, d}}, {{words, d}}},
           .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
           .run =
               [bias](Vars x, Tensors i) {
                 return kernel_softmax({}, x[0], {{x[1]}, bias ? x[2] : Var()}, i[0], 0.3).loss;
               },
           .oracle =
               [=](Values x, AllInts i) {
                 Doubles scores = product(x[0], false, x[1], true, rows, words, d);
                 if (bias)
                   scores = pairwise(scores, x[2], [](double a, double b) { return a + b; });
                 return Doubles{nll_of(log_softmax_of(scores, words), i[0], words, 0.3)};
               },
           .checked = 12,
           .bench = bench};
  if (bias) c.inputs.push_back({{words}});
  return c;
}

// A mixture of `count` inner products, each with a context of its own: tanh(h L_k').
OpCase mixture_softmax_case(int64_t rows, int64_t words, int64_t d, int64_t count, bool untied) {
  HeadSpec head{.components = std::vector<Score>(static_cast<size_t>(count)),
                .mixture = true,
                .contexts = true,
                .untied = untied};
  return {.name = concat("kernel_softmax mixture", sizes({rows, words, d, count}),
                         untied ? " untied" : " tied"),
          .inputs = {{{rows, d}},
                     {{untied ? count : 1, words, d}},
                     {{words}},
                     {{count, d}},
                     {{count * d, d}}},
          .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
          .run =
              [head](Vars x, Tensors i) {
                return kernel_softmax(head, x[0], {{x[1]}, x[2], x[3], x[4]}, i[0], 0.3).loss;
              },
          .oracle =
              [=](Values x, AllInts i) {
                const Doubles prior =
                    log_softmax_of(product(x[0], false, x[3], true, rows, count, d), count);
                Doubles posterior(index_of(rows * words));
                for (int64_t k = 0; k < count; ++k) {
                  const auto part = [&](const Doubles& v, int64_t size, int64_t at) {
                    return Doubles(v.begin() + at * size, v.begin() + (at + 1) * size);
                  };
                  Doubles context = product(x[0], false, part(x[4], d * d, k), true, rows, d, d);
                  for (double& c : context) c = std::tanh(c);
                  Doubles s = product(context, false, part(x[1], words * d, untied ? k : 0), true,
                                      rows, words, d);
                  s = log_softmax_of(pairwise(s, x[2], [](double a, double b) { return a + b; }),
                                     words);
                  for (int64_t n = 0; n < rows * words; ++n)
                    posterior[index_of(n)] +=
                        std::exp(prior[index_of(n / words * count + k)] + s[index_of(n)]);
                }
                for (double& p : posterior) p = std::log(p);
                return Doubles{nll_of(posterior, i[0], words, 0.3)};
              },
          .checked = 12,
          .windows = false};
}

// A kernel that needs statistics of its vectors, in a mixture of one component with a penalty on
// its prior, which is 0.
OpCase rbf_softmax_case(int64_t rows, int64_t words, int64_t d) {
  const HeadSpec head{.components = {{ScoreKind::rbf, {0.5}}}, .mixture = true};
  return {.name = concat("kernel_softmax rbf", sizes({rows, words, d})),
          .inputs = {{{rows, d}}, {{words, d}}, {{1, d}}},
          .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
          .run =
              [head](Vars x, Tensors i) {
                return kernel_softmax(head, x[0], {{x[1]}, {}, x[2]}, i[0], 0.3,
                                      {.prior = {ops::PriorPenalty::cv2, 0.1}})
                    .loss;
              },
          .oracle =
              [=](Values x, AllInts i) {
                Doubles s(index_of(rows * words));
                for (int64_t n = 0; n < rows * words; ++n) {
                  double q = 0;
                  for (int64_t k = 0; k < d; ++k) {
                    const double e =
                        x[0][index_of(n / words * d + k)] - x[1][index_of(n % words * d + k)];
                    q += e * e;
                  }
                  s[index_of(n)] = std::exp(-0.5 * q);
                }
                return Doubles{nll_of(log_softmax_of(s, words), i[0], words, 0.3)};
              },
          .checked = 12};
}

OpCase norm_penalty_case(int64_t rows, int64_t d, const NormRegulariser& r) {
  return {.name = concat("norm_penalty", sizes({rows, d}), " ", to_text(r)),
          .inputs = {{{rows, d}}, {{2, rows, d}}},
          .run = [r](Vars x, Tensors) { return norm_penalty(x, r); },
          .oracle =
              [=](Values x, AllInts) {
                double sum = 0;
                for (const Doubles& w : x)
                  for (size_t v = 0; v < w.size(); v += index_of(d)) {
                    double square = 0;
                    for (size_t k = v; k < v + index_of(d); ++k) square += w[k] * w[k];
                    sum += (std::sqrt(square) - r.norm) * (std::sqrt(square) - r.norm);
                  }
                return Doubles{r.strength *
                               (r.kind == NormRegulariser::Kind::root ? std::sqrt(sum) : sum)};
              },
          .windows = false};
}

// Cross-entropy with the smoothed target distribution.
OpCase smoothed_softmax_case(int64_t rows, int64_t words, int64_t d,
                             const LabelSmoothing& smoothing) {
  const bool uniform = smoothing.kind == LabelSmoothing::Kind::uniform;
  return {.name = concat("kernel_softmax smoothed", sizes({rows, words, d}), " ",
                         to_text(smoothing.kind), " ", smoothing.epsilon),
          .inputs = {{{rows, d}}, {{words, d}}, {{words}}},
          .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
          .run =
              [smoothing](Vars x, Tensors i) {
                return kernel_softmax({}, x[0], {{x[1]}, x[2]}, i[0], 0.3, {smoothing}).loss;
              },
          .oracle =
              [=](Values x, AllInts i) {
                Doubles scores = product(x[0], false, x[1], true, rows, words, d);
                scores = log_softmax_of(
                    pairwise(scores, x[2], [](double a, double b) { return a + b; }), words);
                double loss = 0;
                for (int64_t r = 0; r < rows; ++r) {
                  const int32_t y = i[0][index_of(r)];
                  if (y < 0) continue;
                  for (int64_t v = 0; v < words; ++v) {
                    const double rest = uniform ? smoothing.epsilon / static_cast<double>(words)
                                        : v == y
                                            ? 0
                                            : smoothing.epsilon / static_cast<double>(words - 1);
                    const double t = rest + (v == y ? 1 - smoothing.epsilon : 0);
                    loss -= 0.3 * t * scores[index_of(r * words + v)];
                  }
                }
                return Doubles{loss};
              },
          .checked = 12};
}

using Shapes = std::vector<Shape>;
using ShapePairs = std::vector<std::pair<Shape, Shape>>;

void add_elementwise(std::vector<OpCase>& all, const Shapes& shapes, const ShapePairs& pairs) {
  for (const Shape& s : shapes) {
    all.push_back(unary_case(
        "neg", neg, [](double x) { return -x; }, s, -1, 1));
    all.push_back(unary_case(
        "exp", exp, [](double x) { return std::exp(x); }, s, -3, 3));
    all.push_back(unary_case(
        "log", log, [](double x) { return std::log(x); }, s, 0.1, 5));
    all.push_back(unary_case(
        "tanh", tanh, [](double x) { return std::tanh(x); }, s, -3, 3));
    all.push_back(unary_case("sigmoid", sigmoid, logistic, s, -3, 3));
    all.push_back(unary_case(
        "relu", relu, [](double x) { return std::max(x, 0.0); }, s, -1, 1));
    all.push_back(unary_case(
        "square", square, [](double x) { return x * x; }, s, -2, 2));
    all.push_back(unary_case(
        "softplus", examples::softplus, [](double x) { return std::log1p(std::exp(x)); }, s, -4,
        4));
    all.push_back(unary_case(
        "scale", [](const Var& x) { return scale(x, -1.75); }, [](double x) { return -1.75 * x; },
        s, -1, 1));
    all.push_back(unary_case(
        "dropout of p 0", [](const Var& x) { return dropout(x, 0, "none"); },
        [](double x) { return x; }, s, -1, 1));
    if (s.rank() > 0) all.push_back(dropout_case(s, 0.3));
  }
  for (const auto& [a, b] : pairs) {
    all.push_back(binary_case(
        "add", add, [](double x, double y) { return x + y; }, a, b));
    all.push_back(binary_case(
        "sub", sub, [](double x, double y) { return x - y; }, a, b));
    all.push_back(binary_case(
        "mul", mul, [](double x, double y) { return x * y; }, a, b));
    all.push_back(binary_case(
        "div", div, [](double x, double y) { return x / y; }, a, b));
  }
  // The same value as both arguments: its gradient is the sum of theirs.
  all.push_back(
      {.name = "mul of a value with itself",
       .inputs = {{{6, 7}}},
       .run = [](Vars x, Tensors) { return mul(x[0], x[0]); },
       .oracle = [](Values x, AllInts) { return each(x[0], [](double v) { return v * v; }); }});
  all.push_back(
      {.name = "div of a value by itself",
       .inputs = {{{6, 7}, 1, 2}},
       .run = [](Vars x, Tensors) { return add(div(x[0], x[0]), x[0]); },
       .oracle = [](Values x, AllInts) { return each(x[0], [](double v) { return 1 + v; }); }});
}

void add_attention(std::vector<OpCase>& all) {
  for (const bool causal : {false, true}) {
    all.push_back(self_attention_case({1, 1, 1, 1, 1, causal}));
    all.push_back(self_attention_case({2, 5, 5, 2, 3, causal}));
    all.push_back(self_attention_case({3, 7, 7, 2, 4, causal, {{3}, 1, 8}}));
    // Several tiles of queries, the last one not full.
    all.push_back(self_attention_case({2, 150, 150, 1, 5, causal}));
    all.push_back(self_attention_case({2, 70, 70, 2, 17, causal, {{2}, 1, 71}}));
    // All keys are padding.
    all.push_back(self_attention_case({2, 4, 4, 2, 3, causal, {{2}, 0, 1}}));
    all.push_back(self_attention_case({64, 24, 24, 4, 128, causal}, true));
  }
  all.push_back(attention_case({3, 1, 9, 2, 3, false, {{3}, 1, 10}}));  // a step of decoding
  all.push_back(attention_case({2, 5, 1, 1, 2}));
  all.push_back(attention_case({2, 66, 80, 2, 9, false, {{2}, 0, 81}}));
  all.push_back(attention_case({1, 3, 130, 4, 2}));
}

void add_windows(std::vector<OpCase>& all) {
  all.push_back({.name = "row_range and col_range of one matrix",
                 .inputs = {{{9, 11}}},
                 .run =
                     [](Vars x, Tensors) {
                       return mul(tanh(col_range(row_range(x[0], 2, 4), 3, 5)),
                                  col_range(row_range(x[0], 4, 4), 3, 5));
                     },
                 .oracle =
                     [](Values x, AllInts) {
                       Doubles y;
                       for (size_t r = 0; r < 4; ++r)
                         for (size_t c = 0; c < 5; ++c)
                           y.push_back(std::tanh(x[0][(r + 2) * 11 + c + 3]) *
                                       x[0][(r + 4) * 11 + c + 3]);
                       return y;
                     }});
  all.push_back(
      {.name = "col_range of 3 parts with a gap in a product",
       .inputs = {{{20, 30}}},
       .run = [](Vars x,
                 Tensors) { return matmul(col_range(x[0], 1, 9), col_range(x[0], 12, 9), true); },
       .oracle =
           [](Values x, AllInts) {
             Doubles y(81);
             for (size_t r = 0; r < 20; ++r)
               for (size_t i = 0; i < 9; ++i)
                 for (size_t j = 0; j < 9; ++j)
                   y[i * 9 + j] += x[0][r * 30 + 1 + i] * x[0][r * 30 + 12 + j];
             return y;
           }});
  all.push_back(
      {.name = "reshape (4, 6) to (2, 3, 4)",
       .inputs = {{{4, 6}}},
       .run =
           [](Vars x, Tensors) {
             return exp(reshape(x[0], {2, 3, 4}));
           },
       .oracle = [](Values x, AllInts) { return each(x[0], [](double v) { return std::exp(v); }); },
       .windows = false});
  all.push_back({.name = "concat_rows of 3",
                 .inputs = {{{4, 6}}, {{1, 6}}},
                 .run =
                     [](Vars x, Tensors) {
                       const Var parts[] = {x[0], x[1], x[0]};
                       return square(concat_rows(parts));
                     },
                 .oracle =
                     [](Values x, AllInts) {
                       Doubles y = x[0];
                       y.insert(y.end(), x[1].begin(), x[1].end());
                       y.insert(y.end(), x[0].begin(), x[0].end());
                       return each(y, [](double v) { return v * v; });
                     }});
}

void add_sums(std::vector<OpCase>& all, const Shape& s) {
  all.push_back({.name = concat("sum ", s),
                 .inputs = {{s}},
                 .run = [](Vars x, Tensors) { return sum(x[0]); },
                 .oracle = [](Values x, AllInts) { return column_sums(x[0], 1); }});
  all.push_back(column_sums_case(s));
  all.push_back({.name = concat("sum_squares ", s),
                 .inputs = {{s}},
                 .run = [](Vars x, Tensors) { return sum_squares(x[0]); },
                 .oracle =
                     [](Values x, AllInts) {
                       return column_sums(each(x[0], [](double v) { return v * v; }), 1);
                     }});
  // To float64 and back, so that the result has the case's type.
  all.push_back(
      {.name = concat("cast ", s),
       .inputs = {{s}},
       .run = [](Vars x,
                 Tensors) { return cast(square(cast(x[0], DType::float64)), x[0].dtype()); },
       .oracle = [](Values x, AllInts) { return each(x[0], [](double v) { return v * v; }); }});
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  add_elementwise(all, {{}, {7}, {3, 5}, {2, 3, 4, 5}, {67, 301}},
                  {{{}, {}},
                   {{5}, {5}},
                   {{3, 5}, {3, 5}},
                   {{3, 5}, {5}},
                   {{2, 3, 4}, {4}},
                   {{130, 257}, {130, 257}},
                   {{130, 257}, {257}}});
  add_windows(all);
  for (const Shape& s : {Shape{}, Shape{5}, Shape{1, 1}, Shape{65, 3}, Shape{3, 130},
                         Shape{200, 177}, Shape{3, 5, 7}})
    add_sums(all, s);
  all.push_back(variational_dropout_case(1, 1, 1, 0.5));
  // Rows of 7 start in the middle of a Philox block of four numbers.
  all.push_back(variational_dropout_case(5, 3, 7, 0.3));
  all.push_back(variational_dropout_case(35, 16, 100, 0.2));
  all.push_back(dropout_words_case(1, 1, 1, 0.5));
  all.push_back(dropout_words_case(60, 5, 9, 0.4));
  all.push_back(dropout_words_case(300, 130, 1000, 0.1));
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      all.push_back(matmul_case(1, 1, 1, ta, tb));
      all.push_back(matmul_case(5, 3, 7, ta, tb));
      all.push_back(matmul_case(65, 64, 63, ta, tb));
      all.push_back(matmul_case(70, 129, 515, ta, tb));
      all.push_back(matmul_case(512, 512, 512, ta, tb, true));
    }
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
  }
  all.push_back(embedding_with_positions_case(1, 1, 1, 1));
  all.push_back(embedding_with_positions_case(11, 5, 3, 7));
  add_attention(all);
  for (const Shape& s : {Shape{1}, Shape{1, 1}, Shape{4, 9}, Shape{2, 3, 5}, Shape{80, 333}})
    all.push_back(log_softmax_case(s));
  // Exponentials that underflow or overflow unless the maximum is subtracted first.
  all.push_back(log_softmax_case({4, 9}, -1000, -900));
  all.push_back(log_softmax_case({4, 9}, 900, 1000));
  all.push_back(nll_case(1, 1));
  all.push_back(nll_case(40, 13));
  all.push_back(kernel_softmax_case(1, 1, 1, true));
  all.push_back(kernel_softmax_case(5, 7, 3, false));
  all.push_back(kernel_softmax_case(33, 65, 9, true));
  all.push_back(kernel_softmax_case(230, 1100, 17, true));
  all.push_back(mixture_softmax_case(33, 70, 6, 3, false));
  all.push_back(mixture_softmax_case(70, 65, 5, 2, true));
  all.push_back(rbf_softmax_case(35, 70, 5));
  all.push_back(norm_penalty_case(70, 9, {NormRegulariser::Kind::squared, 0.3, 1.5}));
  all.push_back(norm_penalty_case(9, 5, {NormRegulariser::Kind::root, 0.3, 0.5}));
  all.push_back(kernel_softmax_case(640, 10000, 512, true, true));
  for (const auto kind : {LabelSmoothing::Kind::uniform, LabelSmoothing::Kind::others}) {
    all.push_back(smoothed_softmax_case(3, 2, 1, {0.2, kind}));
    all.push_back(smoothed_softmax_case(33, 65, 9, {0.1, kind}));
    all.push_back(smoothed_softmax_case(230, 300, 17, {0.3, kind}));
  }
  return all;
}

std::vector<OpCase> random_op_cases(uint64_t seed, int64_t max_size) {
  RandomStream random({.seed = seed, .op = stream_id("checks.shapes")});
  const auto n = [&] {
    return 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(max_size)));
  };
  std::vector<OpCase> all;
  add_elementwise(all, {{n(), n()}}, {{{n(), 3}, {3}}});
  add_windows(all);
  add_sums(all, {n(), n()});
  all.push_back(variational_dropout_case(n(), n(), n(), 0.3));
  all.push_back(dropout_words_case(n(), n(), static_cast<int32_t>(n()), 0.4));
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) all.push_back(matmul_case(n(), n(), n(), ta, tb));
  all.push_back(linear_case({n(), n()}, n(), true));
  all.push_back(linear_case({n(), n()}, n(), false));
  all.push_back(linear_relu_case(n(), n(), n()));
  all.push_back(linear_bias_dropout_add_case(n(), n(), n(), 0.3));
  all.push_back(embedding_case(n(), n(), {n()}));
  all.push_back(embedding_with_positions_case(n(), n(), n(), n()));
  all.push_back(layer_norm_case({n(), n() + 1}));
  all.push_back(lstm_case(n(), n(), n(), n()));
  const int64_t batch = n(), keys = n(), steps = n();
  all.push_back(self_attention_case(
      {batch, steps, steps, n(), n(), true, {{batch}, 1, static_cast<int32_t>(steps) + 1}}));
  all.push_back(attention_case(
      {batch, n(), keys, n(), n(), false, {{batch}, 0, static_cast<int32_t>(keys) + 1}}));
  all.push_back(log_softmax_case({n(), n() + 1}));
  all.push_back(nll_case(n(), n()));
  all.push_back(norm_penalty_case(n(), n(), {NormRegulariser::Kind::squared, 0.3, 1.5}));
  all.push_back(norm_penalty_case(n(), n(), {NormRegulariser::Kind::root, 0.3, 0.5}));
  return all;
}

}  // namespace nine::checks
