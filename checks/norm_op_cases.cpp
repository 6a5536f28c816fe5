// Cases of the ops that give word vectors and contexts norms (docs/margins.md).
#include <algorithm>
#include <cmath>

#include "checks/oracles.h"
#include "checks/raw_op_cases.h"
#include "core/ops.h"
#include "kernels/ops.h"

namespace nine::checks {
namespace {

double length(const Doubles& x, size_t row, size_t d) {
  double square = 0;
  for (size_t k = 0; k < d; ++k) square += x[row * d + k] * x[row * d + k];
  return std::sqrt(square);
}

Input doubles(const Shape& shape, double low = 0.5, double high = 3) {
  return {.shape = shape, .low = low, .high = high, .always_double = true};
}
Input result(const Shape& shape) { return {.shape = shape, .always_double = true, .nan = true}; }

RawOpCase row_norms_case(const Shape& s) {
  return {.name = concat("row_norms ", s),
          .inputs = {{s}, result({s.rows()})},
          .run = [](Tensors t, Tensors) { ops::row_norms(t[0], t[1]); },
          .oracle =
              [d = index_of(s.cols())](std::span<Doubles> t, AllInts) {
                for (size_t r = 0; r < t[1].size(); ++r) t[1][r] = length(t[0], r, d);
              }};
}

// Makes a case whose targets are drawn from `first` to `last`; -1 stands for a row without a
// target.
RawOpCase largest_norm_case(int64_t rows, int32_t first, int32_t last) {
  return {.name = concat("largest_norm ", rows, " targets from ", first, " to ", last),
          .inputs = {doubles({rows}), result({}), result({})},
          .indices = {{{rows}, first, last}, {{1}}},
          .run =
              [](Tensors t, Tensors i) {
                ops::largest_norm(t[0], i[0], t[1], i[1]);
                ops::fill(t[2], i[1].to_vector()[0]);
              },
          .oracle =
              [](std::span<Doubles> t, AllInts i) {
                const bool all = *std::max_element(i[0].begin(), i[0].end()) < 0;
                t[1][0] = 0;
                for (size_t r = 0; r < t[0].size(); ++r)
                  if ((all || i[0][r] >= 0) && t[0][r] > t[1][0])
                    t[1][0] = t[0][r], t[2][0] = static_cast<double>(r);
              }};
}

RawOpCase running_case(double decay) {
  return {.name = concat("update_running_norm decay ", decay),
          .inputs = {doubles({}), doubles({}), result({}), result({}), doubles({}, 0, 0)},
          .run =
              [=](Tensors t, Tensors) {
                ops::update_running_norm(t[0], decay, t[1]);
                ops::running_norm(t[1], t[2]);
                ops::running_norm(t[4], t[3]);
                ops::update_running_norm(t[0], decay, t[4]);
              },
          .oracle =
              [=](std::span<Doubles> t, AllInts) {
                const double now = t[0][0], before = t[1][0];
                t[1][0] = decay == 0 ? std::max(now, before) : decay * before + (1 - decay) * now;
                t[2][0] = t[1][0];
                t[3][0] = 1;
                t[4][0] = now;
              }};
}

RawOpCase set_norms_case(const Shape& s) {
  return {.name = concat("set_norms ", s),
          .inputs = {{s}, doubles({s.rows()}), doubles({}), {.shape = s, .nan = true}},
          .run = [](Tensors t, Tensors) { ops::set_norms(t[0], t[1], t[2], t[3]); },
          .oracle =
              [d = index_of(s.cols())](std::span<Doubles> t, AllInts) {
                for (size_t i = 0; i < t[0].size(); ++i) t[3][i] = t[2][0] * t[0][i] / t[1][i / d];
              }};
}

// Works in place, as HeadBlocks does.
RawOpCase set_norms_backward_case(const Shape& s) {
  return {.name = concat("set_norms_backward ", s),
          .inputs = {{s}, doubles({s.rows()}), doubles({}), {s}, result({s.rows()})},
          .run =
              [](Tensors t, Tensors) {
                ops::row_norms(t[0], t[1]);
                ops::set_norms_backward(t[0], t[1], t[2], t[3], t[3], t[4]);
              },
          .oracle =
              [d = index_of(s.cols())](std::span<Doubles> t, AllInts) {
                for (size_t r = 0; r < t[1].size(); ++r) {
                  const double norm = t[1][r] = length(t[0], r, d);
                  double along = 0;
                  for (size_t k = 0; k < d; ++k) along += t[0][r * d + k] / norm * t[3][r * d + k];
                  for (size_t k = 0; k < d; ++k)
                    t[3][r * d + k] =
                        t[2][0] / norm * (t[3][r * d + k] - along * t[0][r * d + k] / norm);
                  t[4][r] = along;
                }
              }};
}

RawOpCase word_scales_case(int64_t words, int64_t first) {
  return {.name = concat("word_scales ", words, " first ", first),
          .inputs = {doubles({words}), doubles({words}), result({2 * words})},
          .run = [=](Tensors t, Tensors) { ops::word_scales(t[0], t[1], first, t[2]); },
          .oracle =
              [=](std::span<Doubles> t, AllInts) {
                for (size_t v = 0; v < t[0].size(); ++v) {
                  const double f = t[1][v] * (first >= 0 ? t[0][index_of(first)] : 1);
                  t[2][2 * v] = f / t[0][v];
                  t[2][2 * v + 1] = f;
                }
              }};
}

RawOpCase word_scales_backward_case(const Shape& s, int64_t first) {
  const int64_t words = s.rows();
  return {.name = concat("word_scales_backward ", s, " first ", first),
          .inputs = {{s},
                     doubles({words}),
                     doubles({words}),
                     result({2 * words}),
                     doubles({2 * words}, -1, 1),
                     {s}},
          .run =
              [=](Tensors t, Tensors) {
                ops::row_norms(t[0], t[1]);
                ops::word_scales(t[1], t[2], first, t[3]);
                ops::word_scales_backward(t[0], t[1], t[2], first, t[3], t[4], t[5]);
              },
          .oracle =
              [=, d = index_of(s.cols())](std::span<Doubles> t, AllInts) {
                const size_t n = index_of(words);
                for (size_t v = 0; v < n; ++v) t[1][v] = length(t[0], v, d);
                double by_first = 0;
                for (size_t v = 0; v < n; ++v) {
                  const double norm = t[1][v],
                               f = t[2][v] * (first >= 0 ? t[1][index_of(first)] : 1);
                  t[3][2 * v] = f / norm;
                  t[3][2 * v + 1] = f;
                  by_first += (t[4][2 * v + 1] + t[4][2 * v] / norm) * t[2][v];
                  for (size_t k = 0; k < d; ++k)
                    t[5][v * d + k] -= t[4][2 * v] * f / (norm * norm * norm) * t[0][v * d + k];
                }
                for (size_t k = 0; k < d && first >= 0; ++k) {
                  const size_t at = index_of(first) * d + k;
                  t[5][at] += by_first / t[1][index_of(first)] * t[0][at];
                }
              }};
}

}  // namespace

void add_norm_cases(std::vector<RawOpCase>& all) {
  for (const Shape& s : {Shape{1, 3}, Shape{5, 7}, Shape{130, 57}}) {
    all.push_back(row_norms_case(s));
    all.push_back(set_norms_case(s));
    all.push_back(set_norms_backward_case(s));
    for (const int64_t first : {int64_t{-1}, s.rows() / 2}) {
      all.push_back(word_scales_case(s.rows(), first));
      all.push_back(word_scales_backward_case(s, first));
    }
  }
  all.push_back(largest_norm_case(1, 0, 1));
  all.push_back(largest_norm_case(33, -1, 3));
  all.push_back(largest_norm_case(33, -1, 0));
  for (const double decay : {0.0, 0.99}) all.push_back(running_case(decay));
}

}  // namespace nine::checks
