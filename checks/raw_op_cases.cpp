#include "checks/raw_op_cases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "checks/oracles.h"
#include "core/ops.h"
#include "kernels/ops.h"

namespace nine::checks {
namespace {

// Returns the log-probabilities (rows, words) of a plain softmax head with h (rows, d) and w
// (words, d).
RawOpCase head_inference_case(int64_t rows, int64_t words, int64_t d) {
  return {.name = concat("head_inference ", Shape{rows, words, d}),
          .inputs = {{{rows, d}}, {{words, d}}, {{rows * words}, 0, 1, true, true}},
          .indices = {{{rows}, -1, static_cast<int32_t>(words)}},
          .run =
              [=](Tensors x, Tensors i) {
                Arena arena("head_inference", x[0].device(), size_t{16} << 20);
                const Arena::Scope scope(arena);
                const Tensor kept = arena.temporary({2, rows}, DType::float64);
                const ops::HeadComponent lin{.w = x[1].view()};
                const ops::HeadBlock block{.components = {&lin, 1},
                                           .h = x[0].view(),
                                           .targets = i[0].view(),
                                           .lse = kept.row_range(0, 1),
                                           .target_score = kept.row_range(1, 1)};
                ops::head_scores(block, arena);
                ops::head_inference(block, x[2], {}, arena);
              },
          .oracle =
              [=](std::span<Doubles> x, AllInts) {
                x[2] = log_softmax_of(product(x[0], false, x[1], true, rows, words, d), words);
              }};
}

// Rounds to the 8 significant bits of bfloat16, to nearest and ties to even; no subnormal numbers.
double to_bfloat16(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

// The op takes float32 and gives bfloat16: the case converts on the host.
RawOpCase head_pieces_case(int64_t rows, int64_t d, int pieces, bool left) {
  // Of each product of pieces, in order: which piece of the left and of the right factor it takes.
  static const std::vector<std::pair<int, int>> kPairs[] = {
      {}, {{0, 0}}, {{1, 0}, {0, 0}, {0, 1}}, {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}}};
  const std::vector<std::pair<int, int>>& pairs = kPairs[pieces];
  const int64_t ld = (d + 7) / 8 * 8, columns = ld * std::ssize(pairs);
  return {.name = concat("head_pieces ", Shape{rows, d}, " ", pieces, left ? " left" : " right"),
          .inputs = {{{rows, d}}, {.shape = {rows * columns}, .always_double = true, .nan = true}},
          .run =
              [=](Tensors t, Tensors) {
                const Device device = t[0].device();
                std::vector<float> single;
                for (const double x : t[0].to_vector()) single.push_back(static_cast<float>(x));
                const Tensor x = Tensor::from(single, {rows, d}).to(device),
                             out({rows, columns}, DType::bfloat16, device);
                ops::head_pieces(x, pieces, left, out);
                ops::copy(Tensor::from(out.to_vector(), {rows * columns}).to(device), t[1]);
              },
          .oracle =
              [=, &pairs](std::span<Doubles> t, AllInts) {
                std::ranges::fill(t[1], 0.0);
                for (int64_t r = 0; r < rows; ++r)
                  for (size_t i = 0; i < pairs.size(); ++i)
                    for (int64_t k = 0; k < d; ++k) {
                      double rest = static_cast<float>(t[0][index_of(r * d + k)]);
                      const int piece = left ? pairs[i].first : pairs[i].second;
                      for (int p = 0; p < piece; ++p) rest -= to_bfloat16(rest);
                      t[1][index_of(r * columns + static_cast<int64_t>(i) * ld + k)] =
                          to_bfloat16(rest);
                    }
              }};
}

RawOpCase copy_case(const Shape& shape) {
  return {.name = concat("copy ", shape),
          .inputs = {{shape},
                     {.shape = shape, .nan = true},
                     {.shape = shape, .always_double = true, .nan = true}},
          .run =
              [](Tensors t, Tensors) {
                ops::copy(t[0], t[1]);
                ops::copy(t[1], t[2]);
              },
          .oracle = [](std::span<Doubles> t, AllInts) { t[1] = t[2] = t[0]; }};
}

// Adds cases of elementwise ops that add to their output or work in place.
void add_elementwise(std::vector<RawOpCase>& all, const Shape& s) {
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
  all.push_back(
      {.name = concat("unary in place ", s),
       .inputs = {{s}},
       .run = [](Tensors t, Tensors) { ops::unary(ops::Unary::exp, t[0], {t[0]}); },
       .oracle = [](std::span<Doubles> t,
                    AllInts) { t[0] = each(t[0], [](double x) { return std::exp(x); }); }});
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
                       for (size_t i = 0; i < t[0].size(); ++i)
                         t[2][i] += t[0][i] - t[1][i % t[1].size()];
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
}

// Adds cases of sums and products that add to their output.
void add_sums(std::vector<RawOpCase>& all, const Shape& s) {
  all.push_back({.name = concat("column_sums added ", s),
                 .inputs = {{s}, {{s.cols()}}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::column_sums(t[0], {t[1], true});
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
                       const Doubles y =
                           product(t[0], true, t[1], false, s.cols(), s.cols(), s.rows());
                       for (size_t i = 0; i < y.size(); ++i) t[2][i] -= 0.5 * y[i];
                     }});
}

// Adds cases of dropout that adds to its output.
void add_dropout(std::vector<RawOpCase>& all, const Shape& s) {
  all.push_back({.name = concat("dropout added ", s),
                 .inputs = {{s}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::dropout(t[0], 0.4, {.seed = 9, .op = 3}, {t[1], true});
                     },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i)
                         t[1][i] +=
                             random_uniform({.seed = 9, .op = 3}, i) >= 0.4f ? t[0][i] / 0.6 : 0;
                     }});
  all.push_back({.name = concat("dropout added, one mask row ", s),
                 .inputs = {{s}, {s}},
                 .run =
                     [](Tensors t, Tensors) {
                       ops::dropout(t[0], 0.4, {.seed = 9, .op = 3}, {t[1], true}, 1);
                     },
                 .oracle =
                     [n = index_of(s.cols())](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i)
                         t[1][i] += random_uniform({.seed = 9, .op = 3}, i % n) >= 0.4f
                                        ? t[0][i] / 0.6
                                        : 0;
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
                         t[1][i] += random_uniform({.seed = 9, .op = 3},
                                                   static_cast<uint64_t>(ids[0][i / n])) >= 0.4f
                                        ? t[0][i] / 0.6
                                        : 0;
                     }});
}

// Adds cases of gradients that are added to earlier gradients.
void add_backward(std::vector<RawOpCase>& all, const Shape& s) {
  all.push_back({.name = concat("embedding_backward ", s),
                 .inputs = {{{50, s.cols()}}, {s}},
                 .indices = {{{50}, 0, static_cast<int32_t>(s.rows())}},
                 .run = [](Tensors t, Tensors i) { ops::embedding_backward(t[0], i[0], t[1]); },
                 .oracle =
                     [n = index_of(s.cols())](std::span<Doubles> t, AllInts i) {
                       for (size_t k = 0; k < t[0].size(); ++k)
                         t[1][static_cast<size_t>(i[0][k / n]) * n + k % n] += t[0][k];
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
                         for (size_t c = r; c < r + n; ++c)
                           t[2][c] += t[1][c] - std::exp(t[0][c]) * total;
                       }
                     }});
}

// Adds cases of ops on the rows that a list names: here every second row, from the last row down.
Ints every_second(int64_t rows) {
  Ints ids;
  for (int64_t r = rows - 1; r >= 0; r -= 2) ids.push_back(static_cast<int32_t>(r));
  return ids;
}

void add_row_ops(std::vector<RawOpCase>& all, const Shape& s, bool bench) {
  const auto ids = [rows = s.rows()](const Tensor& on) {
    const Ints some = every_second(rows);
    return Tensor::from(some, {static_cast<int64_t>(some.size())}).to(on.device());
  };
  const auto each = [s](auto&& f) {
    for (const int32_t r : every_second(s.rows()))
      for (int64_t c = 0; c < s.cols(); ++c) f(index_of(r * s.cols() + c));
  };
  all.push_back(
      {.name = concat("fill_rows ", s),
       .inputs = {{s}},
       .run = [=](Tensors t, Tensors) { ops::fill_rows(t[0], ids(t[0]), -1.5); },
       .oracle = [=](std::span<Doubles> t, AllInts) { each([&](size_t i) { t[0][i] = -1.5; }); },
       .bench = bench});
  const Input norm{.shape = {}, .low = 4, .high = 5, .always_double = true};
  all.push_back(
      {.name = concat("adam_rows ", s),
       .inputs = {{s}, {s}, {s, -0.1, 0.1}, {s, 0, 0.1}, norm},
       .run =
           [=](Tensors t, Tensors) {
             ops::adam_rows(t[0], t[1], t[2], t[3], ids(t[0]), {t[4], 0.5}, {.lr = 0.01, .t = 3});
           },
       .oracle =
           [=](std::span<Doubles> t, AllInts) {
             const double factor = 0.5 / (std::sqrt(t[4][0]) + 1e-6);
             each([&](size_t i) {
               const double g = factor * t[1][i];
               t[2][i] = 0.9 * t[2][i] + 0.1 * g;
               t[3][i] = 0.999 * t[3][i] + 0.001 * g * g;
               const double m = t[2][i] / (1 - std::pow(0.9, 3)),
                            v = t[3][i] / (1 - std::pow(0.999, 3));
               t[0][i] -= 0.01 * m / (std::sqrt(v) + 1e-8);
             });
           },
       .bench = bench});
}

// Attention of 6 queries to lists of up to `longest` of 50 keys; `group` heads of queries share a
// head of keys.
RawOpCase listed_attention_case(int64_t heads, int64_t size, int32_t longest, int64_t group = 1) {
  const int64_t queries = 6, d = heads * size, width = d / group;
  return {.name = concat("listed_attention ", Shape{heads, size, longest, group}),
          .inputs = {{{queries, d}},
                     {{50, 2 * width}},
                     {.shape = {queries, d}, .nan = true},
                     {{queries, longest}}},
          .indices = {{{100}, 0, 50}, {{queries}, 0, 100 - longest}, {{queries}, 1, longest + 1}},
          .run =
              [=](Tensors t, Tensors i) {
                ops::listed_attention({.q = t[0],
                                       .keys_values = t[1],
                                       .rows = i[0],
                                       .first = i[1],
                                       .counts = i[2],
                                       .y = t[2],
                                       .weights = t[3],
                                       .heads = heads});
              },
          .oracle =
              [=](std::span<Doubles> t, AllInts i) {
                for (int64_t q = 0; q < queries; ++q) {
                  const auto n = index_of(i[2][index_of(q)]);
                  // Column c of a key, or of a value, as if each head of queries had its own.
                  const auto number = [&](size_t s, int64_t c, bool value) -> double {
                    const int32_t row = i[0][index_of(i[1][index_of(q)]) + s];
                    const int64_t own = c / (group * size) * size + c % size;
                    return t[1][index_of(row * 2 * width + own + (value ? width : 0))];
                  };
                  std::fill_n(t[3].begin() + q * longest, n, 0.0);
                  for (int64_t c = 0; c < d; ++c) t[2][index_of(q * d + c)] = 0;
                  for (int64_t h = 0; h < heads; ++h) {
                    Doubles p(n, 0.0);
                    double all = 0;
                    for (size_t s = 0; s < n; ++s) {
                      for (int64_t c = h * size; c < (h + 1) * size; ++c)
                        p[s] += t[0][index_of(q * d + c)] * number(s, c, false);
                      all += p[s] = std::exp(p[s] / std::sqrt(static_cast<double>(size)));
                    }
                    for (size_t s = 0; s < n; ++s) {
                      t[3][index_of(q * longest) + s] += p[s] / all / static_cast<double>(heads);
                      for (int64_t c = h * size; c < (h + 1) * size; ++c)
                        t[2][index_of(q * d + c)] += p[s] / all * number(s, c, true);
                    }
                  }
                }
              }};
}

void add_optimisers(std::vector<RawOpCase>& all, const Shape& s, bool bench) {
  const Input norm{.shape = {}, .low = 4, .high = 5, .always_double = true};
  for (const double clip : {0.0, 0.5})
    all.push_back({.name = concat("lion ", s, " clip ", clip),
                   .inputs = {{s}, {s}, {s, -0.1, 0.1}, norm},
                   .run =
                       [=](Tensors t, Tensors) {
                         ops::update(t[0], t[1], {t[2]}, nullptr, {t[3], clip},
                                     ops::LionStep{.lr = 0.01, .weight_decay = 0.1});
                       },
                   .oracle =
                       [=](std::span<Doubles> t, AllInts) {
                         const double factor =
                             clip > 0 ? std::min(1.0, clip / (std::sqrt(t[3][0]) + 1e-6)) : 1;
                         for (size_t k = 0; k < t[0].size(); ++k) {
                           const double g = factor * t[1][k], u = 0.9 * t[2][k] + 0.1 * g;
                           t[0][k] = t[0][k] * (1 - 0.01 * 0.1) - 0.01 * ((u > 0) - (u < 0));
                           t[2][k] = 0.99 * t[2][k] + 0.01 * g;
                         }
                       },
                   .bench = bench});
  for (const bool decoupled : {false, true})
    for (const double clip : {0.0, 0.5, 10.0})
      all.push_back({.name = concat("adam ", s, decoupled ? " decoupled" : "", " clip ", clip),
                     .inputs = {{s}, {s}, {s, -0.1, 0.1}, {s, 0, 0.1}, norm},
                     .run =
                         [=](Tensors t, Tensors) {
                           ops::adam(
                               t[0], t[1], t[2], t[3], {t[4], clip},
                               {.lr = 0.01, .weight_decay = 0.1, .decoupled = decoupled, .t = 3});
                         },
                     .oracle =
                         [=](std::span<Doubles> t, AllInts) {
                           const double factor =
                               clip > 0 ? std::min(1.0, clip / (std::sqrt(t[4][0]) + 1e-6)) : 1;
                           for (size_t i = 0; i < t[0].size(); ++i) {
                             const double g = factor * t[1][i] + (decoupled ? 0 : 0.1 * t[0][i]);
                             if (decoupled) t[0][i] -= 0.01 * 0.1 * t[0][i];
                             t[2][i] = 0.9 * t[2][i] + 0.1 * g;
                             t[3][i] = 0.999 * t[3][i] + 0.001 * g * g;
                             const double m = t[2][i] / (1 - std::pow(0.9, 3)),
                                          v = t[3][i] / (1 - std::pow(0.999, 3));
                             t[0][i] -= 0.01 * m / (std::sqrt(v) + 1e-8);
                           }
                         },
                     .bench = bench});
  for (const double momentum : {0.0, 0.9})
    all.push_back({.name = concat("sgd ", s, " momentum ", momentum),
                   .inputs = {{s}, {s}, {s}, norm},
                   .run =
                       [=](Tensors t, Tensors) {
                         ops::sgd(t[0], t[1], momentum > 0 ? t[2].view() : View{}, {t[3], 0.5},
                                  {.lr = 0.3, .momentum = momentum, .weight_decay = 0.1});
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
  add_row_ops(all, s, bench);
  all.push_back({.name = concat("average ", s),
                 .inputs = {{s}, {s}},
                 .run = [](Tensors t, Tensors) { ops::average(t[0], t[1], 0.25); },
                 .oracle =
                     [](std::span<Doubles> t, AllInts) {
                       for (size_t i = 0; i < t[0].size(); ++i)
                         t[0][i] = 0.75 * t[0][i] + 0.25 * t[1][i];
                     },
                 .bench = bench});
}

}  // namespace

std::vector<RawOpCase> raw_op_cases() {
  std::vector<RawOpCase> all;
  for (const auto& [heads, size, longest] :
       {std::tuple<int64_t, int64_t, int32_t>{1, 1, 1}, {3, 5, 9}, {2, 40, 33}, {10, 3, 70}})
    all.push_back(listed_attention_case(heads, size, longest));
  all.push_back(listed_attention_case(6, 5, 33, 2));
  all.push_back(listed_attention_case(4, 17, 40, 4));
  for (const Shape& s : {Shape{1, 1}, Shape{5, 7}, Shape{130, 257}}) {
    all.push_back({.name = concat("fill ", s),
                   .inputs = {{.shape = s, .nan = true}},
                   .run = [](Tensors t, Tensors) { ops::fill(t[0], -1.5); },
                   .oracle = [](std::span<Doubles> t,
                                AllInts) { std::fill(t[0].begin(), t[0].end(), -1.5); }});
    all.push_back(copy_case(s));
    all.push_back(
        {.name = concat("all_finite ", s),
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
    add_elementwise(all, s);
    add_sums(all, s);
    add_dropout(all, s);
    add_backward(all, s);
    add_optimisers(all, s, false);
  }
  add_optimisers(all, {1000, 1000}, true);
  all.push_back(head_inference_case(35, 70, 6));
  for (const int pieces : {1, 2, 3})
    for (const bool left : {false, true}) all.push_back(head_pieces_case(33, 13, pieces, left));
  add_norm_cases(all);
  return all;
}

}  // namespace nine::checks
