// Cases of softmax and losses: softmax, log_softmax, nll, cross_entropy, kernel_softmax and
// norm_penalty.
#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "checks/op_case_groups.h"
#include "checks/oracles.h"
#include "kernels/loss/kernel_softmax.h"

namespace nine::checks {
namespace {

OpCase log_softmax_case(const Shape& shape, double low = -3, double high = 3) {
  return {.name = concat("log_softmax ", shape, " from ", low, " to ", high),
          .inputs = {{shape, low, high}},
          .run = [](Vars x, Tensors) { return log_softmax(x[0]); },
          .oracle = [n = shape.cols()](Values x, AllInts) { return log_softmax_of(x[0], n); }};
}

OpCase softmax_case(const Shape& shape) {
  return {.name = concat("softmax ", shape),
          .inputs = {{shape, -3, 3}},
          .run = [](Vars x, Tensors) { return softmax(x[0]); },
          .oracle =
              [n = shape.cols()](Values x, AllInts) {
                return each(log_softmax_of(x[0], n), [](double y) { return std::exp(y); });
              }};
}

OpCase nll_case(int64_t rows, int64_t cols) {
  return {.name = concat("nll", sizes({rows, cols})),
          .inputs = {{{rows, cols}, -3, -1}},
          .indices = {{{rows}, -1, static_cast<int32_t>(cols)}},
          .run = [](Vars x, Tensors i) { return nll(x[0], i[0], 0.3); },
          .oracle = [cols](Values x, AllInts i) { return Doubles{nll_of(x[0], i[0], cols, 0.3)}; }};
}

// Makes a case whose targets are drawn from `first` on: 0, or -1 to include rows without a target.
OpCase cross_entropy_case(int64_t rows, int64_t cols, int32_t first) {
  return {.name = concat("cross_entropy", sizes({rows, cols}), " targets from ", first),
          .inputs = {{{rows, cols}, -3, 3}},
          .indices = {{{rows}, first, static_cast<int32_t>(cols)}},
          .run = [](Vars x, Tensors i) { return cross_entropy(x[0], i[0]); },
          .oracle =
              [cols](Values x, AllInts i) {
                const auto n =
                    std::count_if(i[0].begin(), i[0].end(), [](int t) { return t >= 0; });
                return Doubles{
                    nll_of(log_softmax_of(x[0], cols), i[0], cols, 1 / static_cast<double>(n))};
              }};
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

// Makes a case of a mixture of `count` inner products, each with its own context tanh(h L_k').
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

// Makes a case of a kernel that needs statistics of its vectors, in a mixture of one component. The
// mixture has a penalty on the prior, which is 0.
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

// Computes the cross-entropy with the smoothed target distribution.
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

}  // namespace

void add_head_cases(std::vector<OpCase>& all) {
  for (const Shape& s : {Shape{1}, Shape{1, 1}, Shape{4, 9}, Shape{2, 3, 5}, Shape{80, 333}})
    all.push_back(log_softmax_case(s));
  // Exponentials underflow or overflow here unless the maximum is subtracted first.
  all.push_back(log_softmax_case({4, 9}, -1000, -900));
  all.push_back(log_softmax_case({4, 9}, 900, 1000));
  for (const Shape& s : {Shape{1}, Shape{4, 9}, Shape{2, 3, 5}, Shape{80, 333}})
    all.push_back(softmax_case(s));
  all.push_back(nll_case(1, 1));
  all.push_back(nll_case(40, 13));
  all.push_back(cross_entropy_case(1, 1, 0));
  all.push_back(cross_entropy_case(7, 5, 0));
  all.push_back(cross_entropy_case(60, 4, -1));  // a fifth of the rows have no target
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
}

void add_random_head_cases(std::vector<OpCase>& all, RandomSize& n) {
  all.push_back(log_softmax_case({n(), n() + 1}));
  all.push_back(nll_case(n(), n()));
  all.push_back(norm_penalty_case(n(), n(), {NormRegulariser::Kind::squared, 0.3, 1.5}));
  all.push_back(norm_penalty_case(n(), n(), {NormRegulariser::Kind::root, 0.3, 0.5}));
  all.push_back(softmax_case({n(), n() + 1}));
  all.push_back(cross_entropy_case(n(), n() + 1, 0));
}

}  // namespace nine::checks
