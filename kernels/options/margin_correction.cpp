#include "kernels/options/margin_correction.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log_sum_exp.h"

namespace nine {
namespace {

// Returns the logarithm of the sum of e^x.
double log_sum(std::span<const double> xs) {
  return LogSumExp::of(std::ssize(xs), [&](int64_t i) { return xs[static_cast<size_t>(i)]; })
      .value();
}

}  // namespace

void undo_cos_margin(std::span<double> log_p, std::span<const double> sizes) {
  require(log_p.size() == sizes.size(), "[undo_cos_margin] ", sizes.size(), " margins for ",
          log_p.size(), " words");
  const auto best =
      static_cast<size_t>(std::max_element(log_p.begin(), log_p.end()) - log_p.begin());
  if (log_p.empty()) return;
  // Computes 1 - kappa p as e^-M p + (1 - p). For the likeliest word p may round to 1, so 1 - p is
  // the sum of the other words' p.
  const double p = log_p[best];
  log_p[best] = -INFINITY;
  const double others = log_sum(log_p);
  for (size_t v = 0; v < log_p.size(); ++v)
    log_p[v] += std::log1p(std::expm1(-sizes[v]) * std::exp(log_p[v]));
  const double both[] = {p - sizes[best], others};
  log_p[best] = p + log_sum(both);
  const double all = log_sum(log_p);
  for (double& x : log_p) x -= all;
}

std::vector<double> cos_margin_optimum(std::span<const double> q, std::span<const double> sizes) {
  require(q.size() == sizes.size(), "[cos_margin_optimum] ", sizes.size(), " margins for ",
          q.size(), " words");
  // p (1 - kappa p) = x has two roots. At most one word, the one with the largest kappa q, can have
  // the larger root, because this root is above 1/2.
  size_t largest = 0;
  const auto kappa = [&](size_t v) { return -std::expm1(-sizes[v]); };
  for (size_t v = 0; v < q.size(); ++v)
    if (kappa(v) * q[v] > kappa(largest) * q[largest]) largest = v;
  std::vector<double> p(q.size());
  const auto fill = [&](double lambda, bool larger) {
    double sum = 0;
    for (size_t v = 0; v < q.size(); ++v) {
      const double x = lambda * q[v], root = std::sqrt(std::max(0.0, 1 - 4 * kappa(v) * x));
      p[v] = larger && v == largest ? (1 + root) / (2 * kappa(v)) : 2 * x / (1 + root);
      sum += p[v];
    }
    return sum;
  };
  const double most = kappa(largest) * q[largest] > 0 ? 1 / (4 * kappa(largest) * q[largest]) : 2,
               end = std::min(most, 2.0);
  // Small roots grow with lambda; a large root falls. The large root is needed if the small roots
  // do not reach the sum 1.
  const bool larger = end == most && fill(most, false) < 1;
  double low = 0, high = end;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    ((fill(middle, larger) < 1) != larger ? low : high) = middle;
  }
  fill((low + high) / 2, larger);
  return p;
}

}  // namespace nine
