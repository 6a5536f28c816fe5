#include "apps/inspect/conditions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "apps/inspect/score_at.h"
#include "core/random.h"
#include "kernels/settings/head.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

constexpr int kTrials = 64;  // random vectors or pairs for each condition

Doubles numbers(int64_t d, double scale, uint64_t which) {
  Doubles x;
  for (int64_t k = 0; k < d; ++k)
    x.push_back(scale * random_normal({.seed = which, .op = stream_id("conditions")},
                                      static_cast<uint64_t>(k)));
  return x;
}

// S(a, h) - S(b, h).
double score_difference(const Score& s, const Doubles& a, const Doubles& b, const Doubles& h) {
  return score_at(s, a, h).value - score_at(s, b, h).value;
}

// The norm of d(S(a, h) - S(b, h))/dh.
double difference_gradient_norm(const Score& s, const Doubles& a, const Doubles& b,
                                const Doubles& h) {
  const Doubles u = score_at(s, a, h).dh, v = score_at(s, b, h).dh;
  double sum = 0;
  for (size_t k = 0; k < u.size(); ++k) sum += (u[k] - v[k]) * (u[k] - v[k]);
  return std::sqrt(sum);
}

Doubles moved(const Doubles& from, const Doubles& along, double by) {
  Doubles x = from;
  for (size_t k = 0; k < x.size(); ++k) x[k] += by * along[k];
  return x;
}

// Whether dS/dz >= 0 for pairs of vectors at every scale; of kernels that cut vectors into parts,
// for pairs of parts.
bool increases_with_z(const Score& score, int64_t d) {
  const int64_t n = d / kernel_expression(score).parts;
  for (uint64_t t = 0; t < kTrials; ++t) {
    const double scale = 0.1 + 0.05 * static_cast<double>(t);
    if (!(slope_by_product(score, numbers(n, scale, 2 * t), numbers(n, scale, 2 * t + 1)) >= 0))
      return false;
  }
  return true;
}

}  // namespace

Conditions conditions_of(const Score& score) {
  const int64_t d = 2 * example_size(score);
  Conditions c{.least = INFINITY, .most = -INFINITY};
  c.stable = true;
  for (uint64_t t = 0; t < kTrials; ++t) {
    const Doubles a = numbers(d, 1, 4 * t), b = numbers(d, 1, 4 * t + 1),
                  h = numbers(d, 1, 4 * t + 2), g = numbers(d, 1, 4 * t + 3);
    const double middle = score_difference(score, a, b, moved(moved(h, h, -0.5), g, 0.5)),
                 chord = (score_difference(score, a, b, h) + score_difference(score, a, b, g)) / 2;
    c.nonlinear = c.nonlinear || std::abs(middle - chord) > 1e-9 * (1 + std::abs(chord));
    for (const Doubles& at : {moved(a, g, 1e-6), moved(a, g, 1e4)})
      c.stable = c.stable && difference_gradient_norm(score, a, b, at) < 1e3;
    const double scale = std::pow(10.0, -2 + 4.0 * static_cast<double>(t) / (kTrials - 1));
    const double s = score_at(score, moved(a, a, scale - 1), moved(h, h, scale - 1)).value;
    c.least = std::min(c.least, s);
    c.most = std::max(c.most, s);
  }
  c.increasing = increases_with_z(score, d);
  return c;
}

std::string conditions_text() {
  std::string text =
      "Kanai's four conditions (2018), tried with the default parameters on random vectors:\n"
      "1 S(w,h) - S(w',h) is not affine in h, so the rank of the log-probabilities is not limited "
      "by d\n"
      "2 the gradient of this difference by h is bounded, near and far\n"
      "3 e^S, which softmax normalises, is not negative\n"
      "4 S never falls as z grows\n"
      "The last columns are the range of S for vectors at scales from 0.01 to 100.\n\n"
      "        1    2    3    4    S from         to\n";
  for (const KernelInfo& k : kernel_table()) {
    const Conditions c = conditions_of(parse_head(k.name).components.front());
    const auto word = [](bool yes) { return yes ? "yes" : "no"; };
    std::array<char, 120> line{};
    std::snprintf(line.data(), line.size(), "%-6s  %-3s  %-3s  %-3s  %-3s %10.3g %10.3g\n", k.name,
                  word(c.nonlinear), word(c.stable), word(c.nonnegative), word(c.increasing),
                  c.least, c.most);
    text += line.data();
  }
  return text;
}

}  // namespace nine::app
