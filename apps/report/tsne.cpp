#include "apps/report/tsne.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/report/pca.h"
#include "core/ops.h"
#include "core/threads.h"

namespace nine::app {
namespace {

constexpr double kEarlyShare = 0.25, kEarlyExaggeration = 12;  // Belkina et al., 2019
constexpr double kEarlyMomentum = 0.5, kMomentum = 0.8;
constexpr double kStart = 1e-4;  // standard deviation of the first places
// Partial sums of a row. A compiler keeps the order of floating-point sums; separate sums let it
// use SIMD instructions.
constexpr size_t kLanes = 8;
constexpr double kOperations = 20;  // of a pair of rows, for parallel_for's estimate of the work

// Squared distances between all rows, n x n.
Tensor squared_distances(const View& x) {
  const int64_t n = x.rows();
  Tensor d({n, n}, DType::float64);
  ops::matmul(x, false, x, true, {d}, -2.0);
  double* const q = d.data<double>();
  std::vector<double> norms(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) norms[static_cast<size_t>(i)] = -0.5 * q[i * n + i];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      q[i * n + j] = i == j ? 0
                            : std::max(0.0, q[i * n + j] + norms[static_cast<size_t>(i)] +
                                                norms[static_cast<size_t>(j)]);
  return d;
}

// Replaces a row of squared distances by the conditional probabilities p_{j|i}. Bisection finds the
// Gaussian's precision for which their entropy is log(perplexity).
void conditional_affinities(std::span<double> row, size_t self, double perplexity) {
  const std::vector<double> distances(row.begin(), row.end());
  double nearest = INFINITY;
  for (size_t j = 0; j < row.size(); ++j)
    if (j != self) nearest = std::min(nearest, distances[j]);
  double low = 0, high = INFINITY, precision = 1;
  for (int i = 0; i < 200; ++i) {
    double sum = 0, weighted = 0;
    for (size_t j = 0; j < row.size(); ++j) {
      // Relative to the nearest row, whose exponential is then 1 at any scale.
      const double beyond = distances[j] - nearest;
      row[j] = j == self ? 0 : std::exp(-precision * beyond);
      sum += row[j];
      weighted += row[j] * beyond;
    }
    const double entropy = std::log(sum) + precision * weighted / sum;
    for (double& p : row) p /= sum;
    if (std::fabs(entropy - std::log(perplexity)) < 1e-10) return;
    (entropy > std::log(perplexity) ? low : high) = precision;
    precision = std::isinf(high) ? 2 * precision : (low + high) / 2;
  }
}

// The coordinates in two arrays, so that the loops over j read contiguous numbers.
struct Places {
  std::vector<double> x, y;
  explicit Places(std::span<const double> pairs) {
    for (size_t i = 0; i < pairs.size(); i += 2) x.push_back(pairs[i]), y.push_back(pairs[i + 1]);
  }
  size_t size() const { return x.size(); }
  double affinity(size_t i, size_t j) const {
    const double dx = x[i] - x[j], dy = y[i] - y[j];
    return 1 / (1 + dx * dx + dy * dy);
  }
};

// The sum of f(j) over j < n, in kLanes partial sums.
template <class F>
double row_sum(size_t n, F&& f) {
  std::array<double, kLanes> lanes{};
  size_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    for (size_t l = 0; l < kLanes; ++l) lanes[l] += f(j + l);
  for (; j < n; ++j) lanes[0] += f(j);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// The sum of f(i) over the rows: f in parallel, the sum in the rows' order.
template <class F>
double sum_over_rows(size_t n, F&& f) {
  std::vector<double> rows(n);
  parallel_for(
      static_cast<int64_t>(n),
      [&](int64_t i) { rows[static_cast<size_t>(i)] = f(static_cast<size_t>(i)); },
      kOperations * static_cast<double>(n * n));
  double sum = 0;
  for (const double row : rows) sum += row;
  return sum;
}

// The sum of all a_ij with i != j, the denominator z of q_ij.
double normalizer(const Places& at) {
  return sum_over_rows(at.size(), [&](size_t i) {
    return row_sum(at.size(), [&](size_t j) { return at.affinity(i, j); }) - 1;
  });
}

// dKL/dy_i = 4 sum_j (e p_ij - q_ij) (y_i - y_j) a_ij with a_ij = 1 / (1 + |y_i - y_j|^2), q_ij =
// a_ij / z (equation 5).
void gradient_at(std::span<const double> p, const Places& at, double z, double exaggeration,
                 std::span<double> gradient) {
  const size_t n = at.size();
  parallel_for(
      static_cast<int64_t>(n),
      [&](int64_t row) {
        const auto i = static_cast<size_t>(row);
        const auto pull = [&](size_t j) {
          const double a = at.affinity(i, j);
          return (exaggeration * p[i * n + j] - a / z) * a;
        };
        gradient[2 * i] = 4 * row_sum(n, [&](size_t j) { return pull(j) * (at.x[i] - at.x[j]); });
        gradient[2 * i + 1] =
            4 * row_sum(n, [&](size_t j) { return pull(j) * (at.y[i] - at.y[j]); });
      },
      kOperations * static_cast<double>(n * n));
}

std::vector<double> first_places(const View& x, uint64_t seed) {
  const PrincipalComponents pca = principal_components(x, 2, true, seed);
  std::vector<double> y = pca.scores.to_vector();
  const double deviation = std::sqrt(pca.variances[0]);
  require(deviation > 0, "[tsne] all rows are equal");
  for (double& v : y) v *= kStart / deviation;
  return y;
}

// Gradient descent with momentum and a gain for each number that grows while the gradient keeps its
// sign (Jacobs, 1988), as in the authors' program.
class Descent {
 public:
  Descent(size_t size, double rate) : velocity_(size, 0), gains_(size, 1), rate_(rate) {}
  void step(std::span<const double> gradient, double momentum, std::vector<double>& y) {
    for (size_t i = 0; i < y.size(); ++i) {
      const bool same_direction = gradient[i] * velocity_[i] < 0;
      gains_[i] = same_direction ? gains_[i] + 0.2 : std::max(0.01, gains_[i] * 0.8);
      velocity_[i] = momentum * velocity_[i] - rate_ * gains_[i] * gradient[i];
      y[i] += velocity_[i];
    }
  }

 private:
  std::vector<double> velocity_, gains_;
  double rate_;
};

}  // namespace

std::vector<double> tsne_affinities(const View& x, double perplexity) {
  const auto n = static_cast<size_t>(x.rows());
  require(n >= 4 && perplexity > 1 && 3 * perplexity <= static_cast<double>(n),
          "[tsne] a perplexity of ", perplexity, " needs ", 3 * perplexity,
          " rows or more, but there are only ", n, "; lower the perplexity");
  const Tensor distances = squared_distances(x);
  const std::span<double> conditional(distances.data<double>(), n * n);
  parallel_for(static_cast<int64_t>(n), [&](int64_t i) {
    const auto row = static_cast<size_t>(i);
    conditional_affinities(conditional.subspan(row * n, n), row, perplexity);
  });
  std::vector<double> p(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      p[i * n + j] =
          (conditional[i * n + j] + conditional[j * n + i]) / (2 * static_cast<double>(n));
  return p;
}

double tsne_gradient(std::span<const double> p, std::span<const double> y, double exaggeration,
                     std::span<double> gradient) {
  const Places at(y);
  const double z = normalizer(at);
  gradient_at(p, at, z, exaggeration, gradient);
  return sum_over_rows(at.size(), [&](size_t i) {
    double sum = 0;
    for (size_t j = 0; j < at.size(); ++j)
      if (const double pij = p[i * at.size() + j]; pij > 0)
        sum += pij * std::log(pij * z / at.affinity(i, j));
    return sum;
  });
}

std::vector<double> tsne(const View& x, const TsneSettings& settings, uint64_t seed) {
  const std::vector<double> p = tsne_affinities(x, settings.perplexity);
  std::vector<double> y = first_places(x, seed), gradient(y.size());
  const double rate =
      settings.rate > 0 ? settings.rate : static_cast<double>(x.rows()) / kEarlyExaggeration;
  Descent descent(y.size(), rate);
  const auto early = static_cast<int64_t>(kEarlyShare * static_cast<double>(settings.iterations));
  for (int64_t i = 0; i < settings.iterations; ++i) {
    const Places at(y);
    gradient_at(p, at, normalizer(at), i < early ? kEarlyExaggeration : 1, gradient);
    descent.step(gradient, i < early ? kEarlyMomentum : kMomentum, y);
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    double mean = 0;
    for (size_t i = axis; i < y.size(); i += 2) mean += y[i];
    for (size_t i = axis; i < y.size(); i += 2) y[i] -= 2 * mean / static_cast<double>(y.size());
  }
  return y;
}

}  // namespace nine::app
