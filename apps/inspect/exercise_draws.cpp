#include "apps/inspect/exercise_draws.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace nine::app {
namespace {

const std::vector<double> kSigns{-1, 1}, kFew{-2, -1, -0.5, 0.5, 1, 2};

// x = m + t (1, 1, -2) in some order has the deviation |t| sqrt(2).
std::vector<double> layer_norm_numbers(Draws& draws) {
  const double m = draws.of({-1, 0, 0.5, 1, 2, 3}), t = draws.of(kFew);
  const size_t odd = draws.below(3);
  std::vector<double> all;
  for (size_t k = 0; k < 3; ++k) all.push_back(m + t * (k == odd ? -2 : 1));
  for (int k = 0; k < 3; ++k) all.push_back(draws.of(kFew));                       // gamma
  for (int k = 0; k < 3; ++k) all.push_back(draws.of({-1, -0.5, 0, 0.5, 1}));      // beta
  for (int k = 0; k < 3; ++k) all.push_back(draws.of({-2, -1, -0.5, 0, 0.5, 1}));  // dL/dy
  return all;
}

// The root of the mean square is a whole number times t.
std::vector<double> rms_norm_numbers(Draws& draws) {
  static constexpr std::array<std::array<double, 3>, 4> kRows{
      {{1, 1, 5}, {1, 5, 7}, {1, 5, 11}, {1, 11, 11}}};
  std::array<double, 3> x = kRows[draws.below(kRows.size())];
  for (size_t k = 2; k > 0; --k) std::swap(x[k], x[draws.below(k + 1)]);
  const double t = draws.of({0.5, 1, 2});
  std::vector<double> all;
  for (const double n : x) all.push_back(draws.of(kSigns) * t * n);
  for (int k = 0; k < 3; ++k) all.push_back(draws.of(kFew));                       // gamma
  for (int k = 0; k < 3; ++k) all.push_back(draws.of({-2, -1, -0.5, 0, 0.5, 1}));  // dL/dy
  return all;
}

// Logistic functions of logarithms are fractions.
std::vector<double> swiglu_numbers(Draws& draws) {
  const double log2 = std::log(2), log3 = std::log(3);
  std::vector<double> all;
  for (int k = 0; k < 2; ++k) all.push_back(draws.of({-log3, -log2, log2, log3}));
  for (int k = 0; k < 4; ++k) all.push_back(draws.of(kFew));  // b, dL/dy
  return all;
}

std::vector<double> rotary_numbers(Draws& draws) {
  std::vector<double> all;
  for (int k = 0; k < 8; ++k) all.push_back(draws.of({-2, -1, -0.5, 0.5, 1, 2, 3}));
  return all;
}

// Keys of whole numbers and queries of multiples of sqrt(2) ln 2: e^a is a power of 2. The queries
// share the keys.
std::vector<double> attention_numbers(Draws& draws, size_t queries) {
  std::vector<double> q(2 * queries), all;
  std::array<double, 4> k{};
  const auto is_fit = [&](size_t i) {
    const double between = q[i] * (k[0] - k[2]) + q[i + 1] * (k[1] - k[3]);
    return q[i] != 0 && q[i + 1] != 0 && std::abs(between) >= 1 && std::abs(between) <= 3;
  };
  for (bool fit = false; !fit;) {
    for (double& x : q) x = draws.of({-2, -1, 0, 1, 2});
    for (double& x : k) x = draws.of({-1, 0, 1, 2});
    fit = true;
    for (size_t i = 0; i < q.size(); i += 2) fit = fit && is_fit(i);
  }
  for (const double x : q) all.push_back(x * std::numbers::sqrt2 * std::log(2));
  all.insert(all.end(), k.begin(), k.end());
  for (int i = 0; i < 4; ++i) all.push_back(draws.of({-2, -1, 0, 1, 2, 3}));  // values
  for (size_t i = 0; i < q.size(); ++i) all.push_back(draws.of(kFew));        // dL/dy
  return all;
}

// Gates of 1/4, 1/2 and 3/4, the sigmoids of multiples of ln 3, and cells of ln 3 and ln(3)/2,
// whose tanh are 4/5 and 1/2: weights and biases are what gives them. h_0 = h_1, so that no sum of
// both kinds of numbers is in a gate.
std::vector<double> lstm_numbers(Draws& draws) {
  const double log3 = std::log(3), sign = draws.of(kSigns);
  // In the order i f g o, what goes into each gate in step 1 and step 2, in units of ln 3.
  const std::array<double, 4> first{draws.of({-1, 0, 1}), 0, draws.of({-0.5, 0.5}),
                                    draws.of({-1, 0, 1})},
      second{draws.of({-1, 0, 1}), 0, 0, draws.of({-1, 0, 1})};
  const auto sigmoid = [&](double x) { return 1 / (1 + std::exp(-x * log3)); };
  const double h = sigmoid(first[3]) * sign * 0.8,
               c0 = 2 * (sign * log3 - sigmoid(first[0]) * std::tanh(first[2] * log3));
  const double step = draws.of(kSigns), x1 = draws.of({-1, -0.5, 0.5, 1, 2}), x2 = x1 - step;
  std::array<double, 4> w_hh{}, w_ih{}, b_ih{}, b_hh{};
  for (size_t g = 0; g < 4; ++g) {
    w_hh[g] = g == 1 ? 0 : draws.of({-1, -0.5, 0.5, 1});
    w_ih[g] = step * (first[g] - second[g]) * log3;
    b_ih[g] = first[g] * log3 - w_ih[g] * x1;
    b_hh[g] = -w_hh[g] * h;
  }
  std::vector<double> all{x1, x2};
  for (const auto& part : {w_ih, w_hh, b_ih, b_hh}) all.insert(all.end(), part.begin(), part.end());
  all.push_back(h);
  all.push_back(c0);
  return all;
}

// Lengths 1 + d with d of a Pythagorean quadruple, in directions of 3, 4, 5.
std::vector<double> norm_penalty_numbers(Draws& draws) {
  static constexpr std::array<std::array<double, 3>, 5> kQuadruples{
      {{1, 2, 2}, {2, 3, 6}, {-0.5, 1, 1}, {1, 4, 8}, {-0.4, 0.4, 0.7}}};
  static constexpr std::array<std::array<double, 2>, 4> kDirections{
      {{0.6, 0.8}, {0.8, 0.6}, {0, 1}, {1, 0}}};
  std::array<double, 3> d = kQuadruples[draws.below(kQuadruples.size())];
  for (size_t k = 2; k > 0; --k) std::swap(d[k], d[draws.below(k + 1)]);
  std::vector<double> all(2, 0.0);  // the example begins with the third number
  for (const double more : d) {
    const auto& direction = kDirections[draws.below(kDirections.size())];
    for (const double x : direction) all.push_back(x == 0 ? 0 : draws.of(kSigns) * x * (1 + more));
  }
  return all;
}

}  // namespace

std::optional<std::vector<double>> drawn_numbers(const std::string& name, Draws& draws) {
  if (name == "layer_norm") return layer_norm_numbers(draws);
  if (name == "rms_norm") return rms_norm_numbers(draws);
  if (name == "swiglu" || name == "geglu") return swiglu_numbers(draws);
  if (name == "rotary") return rotary_numbers(draws);
  if (name == "attention") return attention_numbers(draws, 1);
  if (name == "grouped_attention") return attention_numbers(draws, 2);
  if (name == "lstm") return lstm_numbers(draws);
  if (name == "weight_norm_reg") return norm_penalty_numbers(draws);
  return {};
}

}  // namespace nine::app
