#include "checks/op_cases.h"

#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "core/ops.h"
#include "examples/softplus.h"
#include "kernels/kernel_softmax.h"

namespace nine::checks {
namespace {

using Vars = std::span<const Var>;
using Tensors = std::span<const Tensor>;
using Values = std::span<const Doubles>;
using AllInts = std::span<const Ints>;

size_t index_of(int64_t i) { return static_cast<size_t>(i); }

// --- oracles --------------------------------------------------------------------------------------------------------

Doubles each(const Doubles& x, double (*f)(double)) {
  Doubles y(x.size());
  std::transform(x.begin(), x.end(), y.begin(), f);
  return y;
}

Doubles pairwise(const Doubles& a, const Doubles& b, double (*f)(double, double)) {
  Doubles y(a.size());
  for (size_t i = 0; i < a.size(); ++i) y[i] = f(a[i], b[i % b.size()]);
  return y;
}

// op(a) (m, k) times op(b) (k, n).
Doubles product(const Doubles& a, bool transpose_a, const Doubles& b, bool transpose_b, int64_t m, int64_t n, int64_t k) {
  Doubles y(index_of(m * n));
  for (int64_t r = 0; r < m; ++r)
    for (int64_t c = 0; c < n; ++c) {
      double s = 0;
      for (int64_t i = 0; i < k; ++i) s += a[index_of(transpose_a ? i * m + r : r * k + i)] * b[index_of(transpose_b ? c * k + i : i * n + c)];
      y[index_of(r * n + c)] = s;
    }
  return y;
}

Doubles column_sums(const Doubles& x, int64_t cols) {
  Doubles y(index_of(cols));
  for (size_t i = 0; i < x.size(); ++i) y[i % y.size()] += x[i];
  return y;
}

Doubles log_softmax_of(const Doubles& x, int64_t cols) {
  Doubles y(x.size());
  for (size_t r = 0; r < x.size(); r += index_of(cols)) {
    const double top = *std::max_element(x.begin() + static_cast<long>(r), x.begin() + static_cast<long>(r) + cols);
    double sum = 0;
    for (size_t c = r; c < r + index_of(cols); ++c) sum += std::exp(x[c] - top);
    for (size_t c = r; c < r + index_of(cols); ++c) y[c] = x[c] - top - std::log(sum);
  }
  return y;
}

double nll_of(const Doubles& log_probs, const Ints& targets, int64_t cols, double weight) {
  double loss = 0;
  for (size_t r = 0; r < targets.size(); ++r)
    if (targets[r] >= 0) loss -= weight * log_probs[r * index_of(cols) + static_cast<size_t>(targets[r])];
  return loss;
}

Doubles layer_norm_of(const Doubles& x, const Doubles& gamma, const Doubles& beta, double eps) {
  const size_t d = gamma.size();
  Doubles y(x.size());
  for (size_t r = 0; r < x.size(); r += d) {
    double mean = 0, variance = 0;
    for (size_t c = 0; c < d; ++c) mean += x[r + c] / static_cast<double>(d);
    for (size_t c = 0; c < d; ++c) variance += (x[r + c] - mean) * (x[r + c] - mean) / static_cast<double>(d);
    for (size_t c = 0; c < d; ++c) y[r + c] = (x[r + c] - mean) / std::sqrt(variance + eps) * gamma[c] + beta[c];
  }
  return y;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// x, w_ih, w_hh, b_ih, b_hh, h0, c0 to y, h_n and c_n, one under the other.
Doubles lstm_of(Values in, int64_t steps, int64_t batch, int64_t input, int64_t hidden) {
  const Doubles &x = in[0], &w_ih = in[1], &w_hh = in[2], &b_ih = in[3], &b_hh = in[4];
  Doubles h = in[5], c = in[6], out;
  for (int64_t t = 0; t < steps; ++t) {
    const Doubles before = h;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t u = 0; u < hidden; ++u) {
        double gate[4];
        for (int64_t g = 0; g < 4; ++g) {
          const int64_t row = g * hidden + u;
          double s = b_ih[index_of(row)] + b_hh[index_of(row)];
          for (int64_t i = 0; i < input; ++i) s += x[index_of((t * batch + b) * input + i)] * w_ih[index_of(row * input + i)];
          for (int64_t i = 0; i < hidden; ++i) s += before[index_of(b * hidden + i)] * w_hh[index_of(row * hidden + i)];
          gate[g] = g == 2 ? std::tanh(s) : logistic(s);
        }
        const size_t k = index_of(b * hidden + u);
        c[k] = gate[1] * c[k] + gate[0] * gate[2];
        h[k] = gate[3] * std::tanh(c[k]);
      }
    out.insert(out.end(), h.begin(), h.end());
  }
  out.insert(out.end(), h.begin(), h.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

// q (batch * queries, d) against kv (batch * keys, 2 d); lengths may be empty.
Doubles attention_of(const Doubles& q, const Doubles& k, const Doubles& v, int64_t batch, int64_t heads, int64_t d, const Ints& lengths,
                     bool causal) {
  const int64_t queries = static_cast<int64_t>(q.size()) / (batch * d), keys = static_cast<int64_t>(k.size()) / (batch * d), size = d / heads;
  Doubles y(q.size());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < queries; ++t) {
      int64_t seen = lengths.empty() ? keys : lengths[index_of(b)];
      if (causal) seen = std::min(seen, t + 1);
      for (int64_t h = 0; h < heads; ++h) {
        const auto at = [&](int64_t row, int64_t c) { return index_of(row * d + h * size + c); };
        Doubles share(index_of(seen));
        double total = 0;
        for (int64_t s = 0; s < seen; ++s) {
          double score = 0;
          for (int64_t c = 0; c < size; ++c) score += q[at(b * queries + t, c)] * k[at(b * keys + s, c)];
          total += share[index_of(s)] = std::exp(score / std::sqrt(static_cast<double>(size)));
        }
        for (int64_t s = 0; s < seen; ++s)
          for (int64_t c = 0; c < size; ++c) y[at(b * queries + t, c)] += share[index_of(s)] / total * v[at(b * keys + s, c)];
      }
    }
  return y;
}

Doubles columns(const Doubles& x, int64_t width, int64_t first, int64_t count) {
  Doubles y;
  for (auto row = x.begin(); row != x.end(); row += width) y.insert(y.end(), row + first, row + first + count);
  return y;
}

// --- rows -----------------------------------------------------------------------------------------------------------

std::string sizes(std::initializer_list<int64_t> all) {
  std::string text;
  for (const int64_t n : all) text += (text.empty() ? " " : "x") + std::to_string(n);
  return text;
}

OpCase unary_case(const char* name, Var (*f)(const Var&), double (*oracle)(double), const Shape& shape, double low, double high) {
  return {.name = concat(name, " ", shape),
          .inputs = {{shape, low, high}},
          .run = [f](Vars x, Tensors) { return f(x[0]); },
          .oracle = [oracle](Values x, AllInts) { return each(x[0], oracle); }};
}

OpCase binary_case(const char* name, Var (*f)(const Var&, const Var&), double (*oracle)(double, double), const Shape& a, const Shape& b) {
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

OpCase sum_rows_case(const Shape& shape) {
  return {.name = concat("sum_rows ", shape),
          .inputs = {{shape}},
          .run = [](Vars x, Tensors) { return sum_rows(x[0]); },
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
                for (const int32_t id : i[0]) y.insert(y.end(), x[0].begin() + id * d, x[0].begin() + (id + 1) * d);
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
                for (size_t i = 0; i < y.size(); ++i) y[i] = random_uniform(key, i) >= static_cast<float>(p) ? y[i] / (1 - p) : 0;
                return y;
              }};
}

// Rows (steps * batch, width): one mask for all steps.
OpCase locked_dropout_case(int64_t steps, int64_t batch, int64_t width, double p) {
  return {.name = concat("dropout locked", sizes({steps, batch, width}), " p ", p),
          .inputs = {{{steps * batch, width}}},
          .run = [p, batch](Vars x, Tensors) { return dropout(x[0], p, "dropout.test", batch); },
          .oracle =
              [p, n = index_of(batch * width)](Values x, AllInts) {
                Doubles y = x[0];
                const RandomKey key{.op = stream_id("dropout.test")};
                for (size_t i = 0; i < y.size(); ++i) y[i] = random_uniform(key, i % n) >= static_cast<float>(p) ? y[i] / (1 - p) : 0;
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
  Indices lengths = {{0}};  // none
};

std::string name_of(const char* kind, const AttentionCase& a) {
  const std::string padding = a.lengths.shape.elements() > 0 ? concat(" lengths ", a.lengths.low, " to ", a.lengths.high - 1) : "";
  return concat("attention ", kind, sizes({a.batch, a.queries, a.keys, a.heads, a.size}), a.causal ? " causal" : "", padding);
}
AttentionShape shape_of(const AttentionCase& a, Tensors indices) {
  return {.batch = a.batch, .heads = a.heads, .lengths = indices[0].elements() > 0 ? indices[0] : Tensor(), .causal = a.causal};
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
                return attention_of(part(0), part(d), part(2 * d), a.batch, a.heads, d, i[0], a.causal);
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
                return attention_of(x[0], columns(x[1], 2 * d, 0, d), columns(x[1], 2 * d, d, d), a.batch, a.heads, d, i[0], a.causal);
              },
          .bench = bench};
}

OpCase linear_relu_case(int64_t rows, int64_t in, int64_t out) {
  return {.name = concat("linear_relu", sizes({rows, in, out})),
          .inputs = {{{rows, in}}, {{out, in}}, {{out}}},
          .run = [](Vars x, Tensors) { return linear_relu(x[0], x[1], x[2]); },
          .oracle =
              [=](Values x, AllInts) {
                return pairwise(product(x[0], false, x[1], true, rows, out, in), x[2], [](double a, double b) { return std::max(a + b, 0.0); });
              }};
}

OpCase linear_residual_case(int64_t rows, int64_t in, int64_t out, double p) {
  return {.name = concat("linear_residual", sizes({rows, in, out}), " p ", p),
          .inputs = {{{rows, in}}, {{out, in}}, {{out}}, {{rows, out}}},
          .run = [p](Vars x, Tensors) { return linear_residual(x[0], x[1], x[2], x[3], p, "dropout.test"); },
          .oracle =
              [=](Values x, AllInts) {
                Doubles y = pairwise(product(x[0], false, x[1], true, rows, out, in), x[2], [](double a, double b) { return a + b; });
                const RandomKey key{.op = stream_id("dropout.test")};
                for (size_t i = 0; i < y.size(); ++i) y[i] = x[3][i] + (random_uniform(key, i) >= static_cast<float>(p) ? y[i] / (1 - p) : 0);
                return y;
              }};
}

// Positions are rows of a longer table than the sentences need.
OpCase embedding_at_case(int64_t words, int64_t d, int64_t batch, int64_t steps) {
  const Doubles positions = random_values({{{steps + 2, d}}}, 5)[0];
  return {.name = concat("embedding_at", sizes({words, d, batch, steps})),
          .inputs = {{{words, d}}},
          .indices = {{{batch, steps}, 0, static_cast<int32_t>(words)}},
          .run =
              [=](Vars x, Tensors i) {
                return embedding_at(x[0], i[0], 1.5, x[0].tape().on_device(tensor_of(positions, {steps + 2, d}, x[0].dtype())));
              },
          .oracle =
              [=](Values x, AllInts ids) {
                Doubles y;
                for (int64_t r = 0; r < batch * steps; ++r)
                  for (int64_t c = 0; c < d; ++c)
                    y.push_back(1.5 * x[0][index_of(ids[0][index_of(r)] * d + c)] + positions[index_of(r % steps * d + c)]);
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
                 if (bias) scores = pairwise(scores, x[2], [](double a, double b) { return a + b; });
                 return Doubles{nll_of(log_softmax_of(scores, words), i[0], words, 0.3)};
               },
           .checked = 12,
           .bench = bench};
  if (bias) c.inputs.push_back({{words}});
  return c;
}

// A mixture of inner products, with and without contexts of their own.
OpCase mixture_softmax_case(int64_t rows, int64_t words, int64_t d, int64_t count, bool untied) {
  HeadSpec head{.components = std::vector<Score>(static_cast<size_t>(count)), .mixture = true, .contexts = true, .untied = untied};
  return {.name = concat("kernel_softmax mixture", sizes({rows, words, d, count}), untied ? " untied" : " tied"),
          .inputs = {{{rows, d}}, {{untied ? count : 1, words, d}}, {{words}}, {{count, d}}, {{count * d, d}}},
          .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
          .run =
              [head](Vars x, Tensors i) {
                return kernel_softmax(head, x[0], {{x[1]}, x[2], x[3], x[4]}, i[0], 0.3).loss;
              },
          .oracle =
              [=](Values x, AllInts i) {
                const Doubles prior = log_softmax_of(product(x[0], false, x[3], true, rows, count, d), count);
                Doubles posterior(index_of(rows * words));
                for (int64_t k = 0; k < count; ++k) {
                  const auto part = [&](const Doubles& v, int64_t size, int64_t at) {
                    return Doubles(v.begin() + at * size, v.begin() + (at + 1) * size);
                  };
                  Doubles context = product(x[0], false, part(x[4], d * d, k), true, rows, d, d);
                  for (double& c : context) c = std::tanh(c);
                  Doubles s = product(context, false, part(x[1], words * d, untied ? k : 0), true, rows, words, d);
                  s = log_softmax_of(pairwise(s, x[2], [](double a, double b) { return a + b; }), words);
                  for (int64_t n = 0; n < rows * words; ++n)
                    posterior[index_of(n)] += std::exp(prior[index_of(n / words * count + k)] + s[index_of(n)]);
                }
                for (double& p : posterior) p = std::log(p);
                return Doubles{nll_of(posterior, i[0], words, 0.3)};
              },
          .checked = 12,
          .windows = false};
}

// A kernel with statistics, and a penalty on the prior of a mixture of one, which is 0.
OpCase rbf_softmax_case(int64_t rows, int64_t words, int64_t d) {
  const HeadSpec head{.components = {{ScoreKind::rbf, {0.5}}}, .mixture = true};
  return {.name = concat("kernel_softmax rbf", sizes({rows, words, d})),
          .inputs = {{{rows, d}}, {{words, d}}, {{1, d}}},
          .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
          .run =
              [head](Vars x, Tensors i) {
                return kernel_softmax(head, x[0], {{x[1]}, {}, x[2]}, i[0], 0.3, {.prior = {ops::PriorPenalty::cv2, 0.1}}).loss;
              },
          .oracle =
              [=](Values x, AllInts i) {
                Doubles s(index_of(rows * words));
                for (int64_t n = 0; n < rows * words; ++n) {
                  double q = 0;
                  for (int64_t k = 0; k < d; ++k) {
                    const double e = x[0][index_of(n / words * d + k)] - x[1][index_of(n % words * d + k)];
                    q += e * e;
                  }
                  s[index_of(n)] = std::exp(-0.5 * q);
                }
                return Doubles{nll_of(log_softmax_of(s, words), i[0], words, 0.3)};
              },
          .checked = 12};
}

// The readout of a single inner product's block: log-probabilities of every word.
PlainCase head_readout_case(int64_t rows, int64_t words, int64_t d) {
  return {
      .name = concat("head_readout", sizes({rows, words, d})),
      .inputs = {{{rows, d}}, {{words, d}}, {{rows * words}, 0, 1, true, true}},
      .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
      .run =
          [=](Tensors x, Tensors i) {
            Arena arena("head_readout", x[0].device(), size_t{16} << 20);
            const Arena::Scope scope(arena);
            const Tensor kept = arena.temporary({2, rows}, DType::float64);
            const ops::HeadComponent lin{.w = x[1].view()};
            const ops::HeadBlock block{
                .components = {&lin, 1}, .h = x[0].view(), .targets = i[0].view(), .lse = kept.row_range(0, 1), .target_score = kept.row_range(1, 1)};
            ops::head_scores(block, arena);
            ops::head_readout(block, x[2], {}, arena);
          },
      .oracle = [=](std::span<Doubles> x, AllInts) { x[2] = log_softmax_of(product(x[0], false, x[1], true, rows, words, d), words); }};
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
                return Doubles{r.strength * (r.kind == NormRegulariser::Kind::root ? std::sqrt(sum) : sum)};
              },
          .windows = false};
}

// Cross-entropy with the smoothed distribution written out.
OpCase smoothed_softmax_case(int64_t rows, int64_t words, int64_t d, const LabelSmoothing& smoothing) {
  const bool uniform = smoothing.kind == LabelSmoothing::Kind::uniform;
  return {.name = concat("kernel_softmax smoothed", sizes({rows, words, d}), " ", to_text(smoothing.kind), " ", smoothing.epsilon),
          .inputs = {{{rows, d}}, {{words, d}}, {{words}}},
          .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
          .run =
              [smoothing](Vars x, Tensors i) {
                return kernel_softmax({}, x[0], {{x[1]}, x[2]}, i[0], 0.3, {smoothing}).loss;
              },
          .oracle =
              [=](Values x, AllInts i) {
                Doubles scores = product(x[0], false, x[1], true, rows, words, d);
                scores = log_softmax_of(pairwise(scores, x[2], [](double a, double b) { return a + b; }), words);
                double loss = 0;
                for (int64_t r = 0; r < rows; ++r) {
                  const int32_t y = i[0][index_of(r)];
                  if (y < 0) continue;
                  for (int64_t v = 0; v < words; ++v) {
                    const double rest = uniform  ? smoothing.epsilon / static_cast<double>(words)
                                        : v == y ? 0
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
        "softplus", examples::softplus, [](double x) { return std::log1p(std::exp(x)); }, s, -4, 4));
    all.push_back(unary_case(
        "scale", [](const Var& x) { return scale(x, -1.75); }, [](double x) { return -1.75 * x; }, s, -1, 1));
    all.push_back(unary_case(
        "dropout of p 0", [](const Var& x) { return dropout(x, 0, "none"); }, [](double x) { return x; }, s, -1, 1));
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
  // One value on both sides: its gradient is the sum of two.
  all.push_back({.name = "mul of a value with itself",
                 .inputs = {{{6, 7}}},
                 .run = [](Vars x, Tensors) { return mul(x[0], x[0]); },
                 .oracle = [](Values x, AllInts) { return each(x[0], [](double v) { return v * v; }); }});
  all.push_back({.name = "div of a value by itself",
                 .inputs = {{{6, 7}, 1, 2}},
                 .run = [](Vars x, Tensors) { return add(div(x[0], x[0]), x[0]); },
                 .oracle = [](Values x, AllInts) { return each(x[0], [](double v) { return 1 + v; }); }});
}

void add_attention(std::vector<OpCase>& all) {
  for (const bool causal : {false, true}) {
    all.push_back(self_attention_case({1, 1, 1, 1, 1, causal}));
    all.push_back(self_attention_case({2, 5, 5, 2, 3, causal}));
    all.push_back(self_attention_case({3, 7, 7, 2, 4, causal, {{3}, 1, 8}}));
    all.push_back(self_attention_case({2, 150, 150, 1, 5, causal}));  // tiles of queries, the last one short
    all.push_back(self_attention_case({2, 70, 70, 2, 17, causal, {{2}, 1, 71}}));
    all.push_back(self_attention_case({2, 4, 4, 2, 3, causal, {{2}, 0, 1}}));  // nothing but padding
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
                 .run = [](Vars x, Tensors) { return mul(tanh(col_range(row_range(x[0], 2, 4), 3, 5)), col_range(row_range(x[0], 4, 4), 3, 5)); },
                 .oracle =
                     [](Values x, AllInts) {
                       Doubles y;
                       for (size_t r = 0; r < 4; ++r)
                         for (size_t c = 0; c < 5; ++c) y.push_back(std::tanh(x[0][(r + 2) * 11 + c + 3]) * x[0][(r + 4) * 11 + c + 3]);
                       return y;
                     }});
  all.push_back({.name = "col_range of 3 parts with a gap in a product",
                 .inputs = {{{20, 30}}},
                 .run = [](Vars x, Tensors) { return matmul(col_range(x[0], 1, 9), col_range(x[0], 12, 9), true); },
                 .oracle =
                     [](Values x, AllInts) {
                       Doubles y(81);
                       for (size_t r = 0; r < 20; ++r)
                         for (size_t i = 0; i < 9; ++i)
                           for (size_t j = 0; j < 9; ++j) y[i * 9 + j] += x[0][r * 30 + 1 + i] * x[0][r * 30 + 12 + j];
                       return y;
                     }});
  all.push_back({.name = "reshape (4, 6) to (2, 3, 4)",
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
  all.push_back(sum_rows_case(s));
  all.push_back({.name = concat("sum_squares ", s),
                 .inputs = {{s}},
                 .run = [](Vars x, Tensors) { return sum_squares(x[0]); },
                 .oracle = [](Values x, AllInts) { return column_sums(each(x[0], [](double v) { return v * v; }), 1); }});
  // There and back, so that the result has the row's type.
  all.push_back({.name = concat("cast ", s),
                 .inputs = {{s}},
                 .run = [](Vars x, Tensors) { return cast(square(cast(x[0], DType::float64)), x[0].dtype()); },
                 .oracle = [](Values x, AllInts) { return each(x[0], [](double v) { return v * v; }); }});
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  add_elementwise(all, {{}, {7}, {3, 5}, {2, 3, 4, 5}, {67, 301}},
                  {{{}, {}}, {{5}, {5}}, {{3, 5}, {3, 5}}, {{3, 5}, {5}}, {{2, 3, 4}, {4}}, {{130, 257}, {130, 257}}, {{130, 257}, {257}}});
  add_windows(all);
  for (const Shape& s : {Shape{}, Shape{5}, Shape{1, 1}, Shape{65, 3}, Shape{3, 130}, Shape{200, 177}, Shape{3, 5, 7}}) add_sums(all, s);
  all.push_back(locked_dropout_case(1, 1, 1, 0.5));
  all.push_back(locked_dropout_case(5, 3, 7, 0.3));  // rows start within a block of four random numbers
  all.push_back(locked_dropout_case(35, 16, 100, 0.2));
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
  for (const Shape& s : {Shape{1, 1}, Shape{3, 5}, Shape{2, 3, 4}, Shape{70, 300}}) all.push_back(layer_norm_case(s));
  all.push_back(layer_norm_case({640, 512}, true));
  all.push_back(lstm_case(1, 1, 1, 1));
  all.push_back(lstm_case(3, 2, 4, 5));
  all.push_back(lstm_case(2, 66, 3, 17));
  all.push_back(lstm_case(3, 3, 7, 130));
  all.push_back(lstm_case(35, 20, 512, 512, true));
  all.push_back(linear_relu_case(1, 1, 1));
  all.push_back(linear_relu_case(70, 9, 67));
  for (const double p : {0.0, 0.3}) {
    all.push_back(linear_residual_case(1, 1, 1, p));
    all.push_back(linear_residual_case(33, 17, 65, p));  // rows start within a block of four random numbers
  }
  all.push_back(embedding_at_case(1, 1, 1, 1));
  all.push_back(embedding_at_case(11, 5, 3, 7));
  add_attention(all);
  for (const Shape& s : {Shape{1}, Shape{1, 1}, Shape{4, 9}, Shape{2, 3, 5}, Shape{80, 333}}) all.push_back(log_softmax_case(s));
  all.push_back(log_softmax_case({4, 9}, -1000, -900));  // every exponential underflows without the maximum taken off
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

std::vector<OpCase> random_op_cases(uint64_t seed, int64_t most) {
  RandomStream random({.seed = seed, .op = stream_id("checks.shapes")});
  const auto n = [&] { return 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(most))); };
  std::vector<OpCase> all;
  add_elementwise(all, {{n(), n()}}, {{{n(), 3}, {3}}});
  add_windows(all);
  add_sums(all, {n(), n()});
  all.push_back(locked_dropout_case(n(), n(), n(), 0.3));
  all.push_back(dropout_words_case(n(), n(), static_cast<int32_t>(n()), 0.4));
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) all.push_back(matmul_case(n(), n(), n(), ta, tb));
  all.push_back(linear_case({n(), n()}, n(), true));
  all.push_back(linear_case({n(), n()}, n(), false));
  all.push_back(linear_relu_case(n(), n(), n()));
  all.push_back(linear_residual_case(n(), n(), n(), 0.3));
  all.push_back(embedding_case(n(), n(), {n()}));
  all.push_back(embedding_at_case(n(), n(), n(), n()));
  all.push_back(layer_norm_case({n(), n() + 1}));
  all.push_back(lstm_case(n(), n(), n(), n()));
  const int64_t batch = n(), keys = n(), steps = n();
  all.push_back(self_attention_case({batch, steps, steps, n(), n(), true, {{batch}, 1, static_cast<int32_t>(steps) + 1}}));
  all.push_back(attention_case({batch, n(), keys, n(), n(), false, {{batch}, 0, static_cast<int32_t>(keys) + 1}}));
  all.push_back(log_softmax_case({n(), n() + 1}));
  all.push_back(nll_case(n(), n()));
  all.push_back(norm_penalty_case(n(), n(), {NormRegulariser::Kind::squared, 0.3, 1.5}));
  all.push_back(norm_penalty_case(n(), n(), {NormRegulariser::Kind::root, 0.3, 0.5}));
  return all;
}

namespace {

PlainCase copy_case(const Shape& shape) {
  return {.name = concat("copy ", shape),
          .inputs = {{shape}, {.shape = shape, .nan = true}, {.shape = shape, .always_double = true, .nan = true}},
          .run =
              [](Tensors t, Tensors) {
                ops::copy(t[0], t[1]);
                ops::copy(t[1], t[2]);
              },
          .oracle = [](std::span<Doubles> t, AllInts) { t[1] = t[2] = t[0]; }};
}

// Ops that write over or add to what is there, on matrices with and without gaps.
void add_sinks(std::vector<PlainCase>& all, const Shape& s) {
  all.push_back({.name = concat("unary added ", s),
                 .inputs = {{s}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::unary(ops::Unary::tanh, t[0], {t[1], true});
                     },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i) t[1][i] += std::tanh(t[0][i]);
                     }});
  all.push_back({.name = concat("unary in place ", s),
                 .inputs = {{s}},
                 .run = [](Tensors t, Tensors) { ops::unary(ops::Unary::exp, t[0], {t[0]}); },
                 .oracle = [](std::span<Doubles> t, AllInts) { t[0] = each(t[0], [](double x) { return std::exp(x); }); }});
  all.push_back({.name = concat("unary_backward added ", s),
                 .inputs = {{s, 1, 2}, {s}, {s}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::unary_backward(ops::Unary::log, t[0], t[1], t[2], {t[3], true});
                     },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i) t[3][i] += t[2][i] / t[0][i];
                     }});
  all.push_back({.name = concat("binary added, one row ", s),
                 .inputs = {{s}, {{s.cols()}}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::binary(ops::Binary::sub, t[0], t[1], {t[2], true});
                     },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i) t[2][i] += t[0][i] - t[1][i % t[1].size()];
                     }});
  all.push_back({.name = concat("scale added ", s),
                 .inputs = {{s}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::scale(0.5, t[0], {t[1], true});
                     },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i) t[1][i] += 0.5 * t[0][i];
                     }});
  all.push_back({.name = concat("sum_rows added ", s),
                 .inputs = {{s}, {{s.cols()}}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::sum_rows(t[0], {t[1], true});
                     },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i) t[1][i % t[1].size()] += t[0][i];
                     }});
  all.push_back({.name = concat("sum added ", s),
                 .inputs = {{s}, {{}}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::sum(t[0], {t[1], true});
                     },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (const double x : t[0]) t[1][0] += x;
                     }});
  all.push_back({.name = concat("matmul added, alpha ", s),
                 .inputs = {{s}, {s}, {{s.cols(), s.cols()}}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::matmul(t[0], true, t[1], false, {t[2], true}, -0.5);
                     },
                 .oracle =
                     [s](std::span<Doubles> t, AllInts) {
                       const Doubles y = product(t[0], true, t[1], false, s.cols(), s.cols(), s.rows());
                       for (size_t i = 0; i < y.size(); ++i) t[2][i] -= 0.5 * y[i];
                     }});
  all.push_back({.name = concat("dropout added ", s),
                 .inputs = {{s}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::dropout(t[0], 0.4, {.seed = 9, .op = 3}, {t[1], true});
                     },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i) t[1][i] += random_uniform({.seed = 9, .op = 3}, i) >= 0.4f ? t[0][i] / 0.6 : 0;
                     }});
  all.push_back({.name = concat("dropout added, one mask row ", s),
                 .inputs = {{s}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::dropout(t[0], 0.4, {.seed = 9, .op = 3}, {t[1], true}, 1);
                     },
                 .oracle =
                     [n = index_of(s.cols())](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i) t[1][i] += random_uniform({.seed = 9, .op = 3}, i % n) >= 0.4f ? t[0][i] / 0.6 : 0;
                     }});
  all.push_back({.name = concat("dropout_words added ", s),
                 .inputs = {{s}, {s}},
                 .indices = {{{s.rows()}, 0, 20}},
                 .run =
                     [](Tensors t, Tensors i) {
                       ops::dropout_words(t[0], i[0], 0.4, {.seed = 9, .op = 3}, {t[1], true});
                     },
                 .oracle =
                     [n = index_of(s.cols())](std::span<Doubles> t, AllInts ids) {
                       for (size_t i = 0; i < t[0].size(); ++i)
                         t[1][i] += random_uniform({.seed = 9, .op = 3}, static_cast<uint64_t>(ids[0][i / n])) >= 0.4f ? t[0][i] / 0.6 : 0;
                     }});
  all.push_back({.name = concat("embedding_backward ", s),
                 .inputs = {{{50, s.cols()}}, {s}},
                 .indices = {{{50}, 0, static_cast<int32_t>(s.rows())}},
                 .run = [](Tensors t, Tensors i) { ops::embedding_backward(t[0], i[0], t[1]); },
                 .oracle =
                     [n = index_of(s.cols())](std::span<Doubles> t, AllInts i) {
                       for (size_t k = 0; k < t[0].size(); ++k) t[1][static_cast<size_t>(i[0][k / n]) * n + k % n] += t[0][k];
                     }});
  all.push_back({.name = concat("log_softmax_backward added ", s),
                 .inputs = {{s, -4, -1}, {s}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::log_softmax_backward(t[0], t[1], {t[2], true});
                     },
                 .oracle =
                     [n = index_of(s.cols())](std::span<Doubles> t, AllInts) {
                       for (size_t r = 0; r < t[0].size(); r += n) {
                         double total = 0;
                         for (size_t c = r; c < r + n; ++c) total += t[1][c];
                         for (size_t c = r; c < r + n; ++c) t[2][c] += t[1][c] - std::exp(t[0][c]) * total;
                       }
                     }});
}

void add_optimisers(std::vector<PlainCase>& all, const Shape& s, bool bench) {
  const Input norm{.shape = {}, .low = 4, .high = 5, .always_double = true};
  for (const bool decoupled : {false, true})
    for (const double clip : {0.0, 0.5, 10.0})
      all.push_back({.name = concat("adam ", s, decoupled ? " decoupled" : "", " clip ", clip),
                     .inputs = {{s}, {s}, {s, -0.1, 0.1}, {s, 0, 0.1}, norm},
                     .run =
                         [=](Tensors t, Tensors) {
                           ops::adam(t[0], t[1], t[2], t[3], {t[4], clip}, {.lr = 0.01, .weight_decay = 0.1, .decoupled = decoupled, .t = 3});
                         },
                     .oracle =
                         [=](std::span<Doubles> t, AllInts) {
                           const double factor = clip > 0 ? std::min(1.0, clip / (std::sqrt(t[4][0]) + 1e-6)) : 1;
                           for (size_t i = 0; i < t[0].size(); ++i) {
                             const double g = factor * t[1][i] + (decoupled ? 0 : 0.1 * t[0][i]);
                             if (decoupled) t[0][i] -= 0.01 * 0.1 * t[0][i];
                             t[2][i] = 0.9 * t[2][i] + 0.1 * g;
                             t[3][i] = 0.999 * t[3][i] + 0.001 * g * g;
                             const double m = t[2][i] / (1 - std::pow(0.9, 3)), v = t[3][i] / (1 - std::pow(0.999, 3));
                             t[0][i] -= 0.01 * m / (std::sqrt(v) + 1e-8);
                           }
                         },
                     .bench = bench});
  for (const double momentum : {0.0, 0.9})
    all.push_back(
        {.name = concat("sgd ", s, " momentum ", momentum),
         .inputs = {{s}, {s}, {s}, norm},
         .run =
             [=](Tensors t, Tensors) {
               ops::sgd(t[0], t[1], momentum > 0 ? t[2].view() : View{}, {t[3], 0.5}, {.lr = 0.3, .momentum = momentum, .weight_decay = 0.1});
             },
         .oracle =
             [=](std::span<Doubles> t, AllInts) {
               for (size_t i = 0; i < t[0].size(); ++i) {
                 double u = 0.5 / (std::sqrt(t[3][0]) + 1e-6) * t[1][i] + 0.1 * t[0][i];
                 if (momentum > 0) u = t[2][i] = momentum * t[2][i] + u;
                 t[0][i] -= 0.3 * u;
               }
             },
         .bench = bench});
  all.push_back({.name = concat("average ", s),
                 .inputs = {{s}, {s}},
                 .run = [](Tensors t, Tensors) { ops::average(t[0], t[1], 0.25); },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i) t[0][i] = 0.75 * t[0][i] + 0.25 * t[1][i];
                     },
                 .bench = bench});
}

}  // namespace

std::vector<PlainCase> plain_cases() {
  std::vector<PlainCase> all;
  for (const Shape& s : {Shape{1, 1}, Shape{5, 7}, Shape{130, 257}}) {
    all.push_back({.name = concat("fill ", s),
                   .inputs = {{.shape = s, .nan = true}},
                   .run = [](Tensors t, Tensors) { ops::fill(t[0], -1.5); },
                   .oracle = [](std::span<Doubles> t, AllInts) { std::fill(t[0].begin(), t[0].end(), -1.5); }});
    all.push_back(copy_case(s));
    all.push_back({.name = concat("all_finite ", s),
                   .inputs = {{s}, {{}, 2, 3, true}},
                   .run = [](Tensors t, Tensors) { ops::fill(t[1], ops::all_finite(t[0]) ? 1 : 0); },
                   .oracle = [](std::span<Doubles> t, AllInts) { t[1][0] = 1; }});
    all.push_back({.name = concat("sum_squares ", s),
                   .inputs = {{s}, {.shape = {}, .always_double = true, .nan = true}},
                   .run = [](Tensors t, Tensors) { ops::sum_squares(t[0], t[1]); },
                   .oracle =
                       [](std::span<Doubles> t, AllInts) {
                         t[1][0] = 0;
                         for (const double x : t[0]) t[1][0] += x * x;
                       }});
    add_sinks(all, s);
    add_optimisers(all, s, false);
  }
  add_optimisers(all, {1000, 1000}, true);
  all.push_back(head_readout_case(35, 70, 6));
  return all;
}

std::vector<Doubles> random_values(const std::vector<Input>& inputs, uint64_t seed) {
  std::vector<Doubles> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& in = inputs[i];
    const RandomKey key{.seed = seed, .step = static_cast<uint32_t>(i), .op = stream_id("test.values")};
    Doubles values(index_of(in.shape.elements()));
    for (size_t e = 0; e < values.size(); ++e)
      values[e] =
          in.nan ? std::nan("") : static_cast<double>(static_cast<float>(in.low + (in.high - in.low) * static_cast<double>(random_uniform(key, e))));
    all.push_back(std::move(values));
  }
  return all;
}

std::vector<Ints> random_indices(const std::vector<Indices>& indices, uint64_t seed) {
  std::vector<Ints> all;
  for (size_t i = 0; i < indices.size(); ++i) {
    RandomStream random({.seed = seed, .step = static_cast<uint32_t>(i), .op = stream_id("test.indices")});
    Ints values(index_of(indices[i].shape.elements()));
    for (int32_t& v : values) v = indices[i].low + static_cast<int32_t>(random.below(static_cast<uint64_t>(indices[i].high - indices[i].low)));
    all.push_back(std::move(values));
  }
  return all;
}

Tensor tensor_of(const Doubles& values, const Shape& shape, DType dtype, int64_t gap) {
  const bool window = gap > 0 && shape.rank() == 2;
  Tensor t(window ? Shape{shape.rows(), shape.cols() + gap} : shape, dtype);
  if (window) {
    ops::fill(t, std::nan(""));  // a read outside of the window shows
    t = t.col_range(gap / 2, shape.cols());
  }
  for_float(dtype, "tensor_of", [&]<class T>(T) {
    for (int64_t r = 0; r < shape.rows(); ++r)
      for (int64_t c = 0; c < shape.cols(); ++c) t.data<T>()[r * t.view().ld + c] = static_cast<T>(values[index_of(r * shape.cols() + c)]);
  });
  return t;
}

Tensor tensor_of(const Ints& values, const Shape& shape) { return Tensor::from<int32_t>(values, shape); }

}  // namespace nine::checks
