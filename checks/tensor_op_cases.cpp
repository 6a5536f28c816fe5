// Cases of elementwise functions, broadcasting, parts of matrices, sums, dropout and matmul.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "autograd/functions.h"
#include "checks/op_case_groups.h"
#include "checks/oracles.h"
#include "examples/softplus.h"

namespace nine::checks {
namespace {

OpCase unary_case(const char* name, const std::function<Var(const Var&)>& f,
                  double (*oracle)(double), const Shape& shape, double low, double high) {
  return {.name = concat(name, " ", shape),
          .inputs = {{shape, low, high}},
          .run = [f](Vars x, Tensors) { return f(x[0]); },
          .oracle = [oracle](Values x, AllInts) { return each(x[0], oracle); }};
}

OpCase binary_case(const char* name, Var (*f)(const Var&, const Var&),
                   double (*oracle)(double, double), const Shape& a, const Shape& b) {
  return {.name = concat(name, " ", a, " ", b),
          .inputs = {{a, 0.5, 2}, {b, 0.5, 2}},
          .run = [f](Vars x, Tensors) { return f(x[0], x[1]); },
          .oracle = [oracle](Values x, AllInts) { return pairwise(x[0], x[1], oracle); },
          // An element of a large row meets so many numbers that one of them is often next to the
          // kink of maximum and minimum.
          .checked = std::max(a.elements(), b.elements()) > 1000 ? 5 : 30};
}

OpCase broadcast_case(const Shape& small, const Shape& shape) {
  return {.name = concat("broadcast_to ", small, " to ", shape),
          .inputs = {{small}},
          .run = [shape](Vars x, Tensors) { return broadcast_to(x[0], shape); },
          .oracle =
              [n = index_of(shape.elements())](Values x, AllInts) {
                return pairwise(Doubles(n), x[0], [](double a, double b) { return a + b; });
              }};
}

OpCase matmul_case(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool bench = false) {
  return {.name = concat("matmul", sizes({m, n, k}), ta ? " a'" : "", tb ? " b'" : ""),
          .inputs = {{ta ? Shape{k, m} : Shape{m, k}}, {tb ? Shape{n, k} : Shape{k, n}}},
          .run = [ta, tb](Vars x, Tensors) { return matmul(x[0], x[1], ta, tb); },
          .oracle = [=](Values x, AllInts) { return product(x[0], ta, x[1], tb, m, n, k); },
          .checked = m * n * k > 100000 ? 10 : 30,
          .bench = bench};
}

double mean_of(const Doubles& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

OpCase column_sums_case(const Shape& shape) {
  return {.name = concat("column_sums ", shape),
          .inputs = {{shape}},
          .run = [](Vars x, Tensors) { return column_sums(x[0]); },
          .oracle = [n = shape.cols()](Values x, AllInts) { return column_sums(x[0], n); }};
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

// Makes a case of rows (steps * batch, width) with one mask for all steps.
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

using Shapes = std::vector<Shape>;
using ShapePairs = std::vector<std::pair<Shape, Shape>>;

// Parameters of the functions of one number. float32 holds them too, so that an input lies on the
// same side of them in float32 and in float64.
constexpr double kFirst = 0.25, kSecond = 1.25;

void add_elementwise(std::vector<OpCase>& all, const Shapes& shapes, const ShapePairs& pairs) {
  for (const Shape& s : shapes) {
#define NINE_CASE_2(NAME, P, P_DEFAULT, Q, Q_DEFAULT, VALUE, DERIVATIVE, TEXT, ORACLE, LOW, HIGH) \
  all.push_back(unary_case(                                                                       \
      #NAME, [](const Var& x) { return NAME(x, kFirst, kSecond); },                               \
      [](double x) -> double {                                                                    \
        constexpr double P = kFirst, Q = kSecond;                                                 \
        return ORACLE;                                                                            \
      },                                                                                          \
      s, LOW, HIGH));
#define NINE_CASE_1(NAME, P, P_DEFAULT, VALUE, DERIVATIVE, TEXT, ORACLE, LOW, HIGH) \
  all.push_back(unary_case(                                                         \
      #NAME, [](const Var& x) { return NAME(x, kFirst); },                          \
      [](double x) -> double {                                                      \
        constexpr double P = kFirst;                                                \
        return ORACLE;                                                              \
      },                                                                            \
      s, LOW, HIGH));
#define NINE_CASE(NAME, VALUE, DERIVATIVE, TEXT, ORACLE, LOW, HIGH)                              \
  all.push_back(unary_case(                                                                      \
      #NAME, [](const Var& x) { return NAME(x); }, [](double x) -> double { return ORACLE; }, s, \
      LOW, HIGH));
    NINE_FOR_EACH_UNARY(NINE_CASE, NINE_CASE_1, NINE_CASE_2)
#undef NINE_CASE
#undef NINE_CASE_1
#undef NINE_CASE_2
    all.push_back(unary_case(
        "div as an operator", [](const Var& x) { return 1 / (1 + exp(-x)); }, logistic, s, -3, 3));
    all.push_back(unary_case(
        "example_softplus", examples::softplus, [](double x) { return std::log1p(std::exp(x)); }, s,
        -4, 4));
    all.push_back(unary_case(
        "scale", [](const Var& x) { return scale(x, -1.75); }, [](double x) { return -1.75 * x; },
        s, -1, 1));
    all.push_back(unary_case(
        "dropout of p 0", [](const Var& x) { return dropout(x, 0, "none"); },
        [](double x) { return x; }, s, -1, 1));
    if (s.rank() > 0) all.push_back(dropout_case(s, 0.3));
  }
  for (const auto& [left, right] : pairs) {
#define NINE_CASE(NAME, VALUE, SLOPE_A, SLOPE_B, TEXT, ORACLE) \
  all.push_back(binary_case(                                   \
      #NAME, NAME, [](double a, double b) -> double { return ORACLE; }, left, right));
    NINE_FOR_EACH_BINARY(NINE_CASE)
#undef NINE_CASE
    const bool first = left.elements() < right.elements();
    all.push_back(broadcast_case(first ? left : right, first ? right : left));
  }
  for (const Shape& s : shapes) {
    all.push_back(binary_case(
        "silu_gated", silu_gated, [](double x, double y) { return x * logistic(x) * y; }, s, s));
    all.push_back(binary_case(
        "gelu_gated", gelu_gated,
        [](double x, double y) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)) * y; }, s, s));
  }
  // Both arguments are the same value, whose gradient is the sum of the arguments' gradients.
  all.push_back(
      {.name = "silu_gated of a value with itself",
       .inputs = {{{6, 7}}},
       .run = [](Vars x, Tensors) { return silu_gated(x[0], x[0]); },
       .oracle = [](Values x,
                    AllInts) { return each(x[0], [](double v) { return v * v * logistic(v); }); }});
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
  for (const int64_t first : {1, 2, 4, 8})  // fewer blocks than a block has rows, and more
    all.push_back({.name = concat("transpose_rows of blocks ", first),
                   .inputs = {{{8, 3}}},
                   .run = [first](Vars x, Tensors) { return transpose_rows(x[0], first); },
                   .oracle =
                       [first](Values x, AllInts) {
                         const int64_t second = 8 / first;
                         Doubles y(24);
                         for (int64_t i = 0; i < first; ++i)
                           for (int64_t j = 0; j < second; ++j)
                             for (int64_t c = 0; c < 3; ++c)
                               y[index_of((j * first + i) * 3 + c)] =
                                   x[0][index_of((i * second + j) * 3 + c)];
                         return y;
                       }});
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
  all.push_back({.name = concat("mean ", s),
                 .inputs = {{s}},
                 .run = [](Vars x, Tensors) { return mean(x[0]); },
                 .oracle = [](Values x, AllInts) { return Doubles{mean_of(x[0])}; }});
  all.push_back({.name = concat("mse_loss ", s),
                 .inputs = {{s}, {s}},
                 .run = [](Vars x, Tensors) { return mse_loss(x[0], x[1]); },
                 .oracle =
                     [](Values x, AllInts) {
                       return Doubles{mean_of(pairwise(
                           x[0], x[1], [](double a, double b) { return (a - b) * (a - b); }))};
                     }});
  all.push_back(column_sums_case(s));
  all.push_back({.name = concat("sum_squares ", s),
                 .inputs = {{s}},
                 .run = [](Vars x, Tensors) { return sum_squares(x[0]); },
                 .oracle =
                     [](Values x, AllInts) {
                       return column_sums(each(x[0], [](double v) { return v * v; }), 1);
                     }});
  // Casts to float64 and back, so that the result has the type of the case.
  all.push_back(
      {.name = concat("cast ", s),
       .inputs = {{s}},
       .run = [](Vars x,
                 Tensors) { return cast(square(cast(x[0], DType::float64)), x[0].dtype()); },
       .oracle = [](Values x, AllInts) { return each(x[0], [](double v) { return v * v; }); }});
}

}  // namespace

void add_tensor_cases(std::vector<OpCase>& all) {
  add_elementwise(all, {{}, {7}, {3, 5}, {2, 3, 4, 5}, {67, 301}},
                  {{{}, {}},
                   {{5}, {5}},
                   {{3, 5}, {3, 5}},
                   {{3, 5}, {5}},
                   {{2, 3, 4}, {4}},
                   {{130, 257}, {130, 257}},
                   {{130, 257}, {257}},
                   {{3, 5}, {}},
                   {{}, {7}},
                   {{}, {130, 257}},
                   {{5}, {3, 5}},
                   {{4}, {2, 3, 4}},
                   {{257}, {130, 257}}});
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
}

void add_random_tensor_cases(std::vector<OpCase>& all, RandomSize& n) {
  add_elementwise(all, {{n(), n()}}, {{{n(), 3}, {3}}});
  add_windows(all);
  add_sums(all, {n(), n()});
  all.push_back(variational_dropout_case(n(), n(), n(), 0.3));
  all.push_back(dropout_words_case(n(), n(), static_cast<int32_t>(n()), 0.4));
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) all.push_back(matmul_case(n(), n(), n(), ta, tb));
}

}  // namespace nine::checks
