#include "apps/report/pca.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/ops.h"

namespace nine::app {
namespace {

// Directions beyond the k wanted: the error then shrinks by the ratio of the (k + 9)th variance to
// the kth in each iteration, which is faster than with k alone.
constexpr int64_t kOversampling = 8;
constexpr int kMaxIterations = 500;
constexpr double kTolerance = 1e-13;  // change of the variances, over the largest one

Tensor matrix(int64_t rows, int64_t cols) { return {{rows, cols}, DType::float64}; }

// Makes the rows of q orthonormal by Gram-Schmidt, one after another, twice: one pass leaves
// rounding errors. A row that is a combination of earlier ones becomes a unit vector orthogonal to
// them.
void orthonormalize(const Tensor& q) {
  const int64_t k = q.view().rows(), d = q.view().cols();
  double* const rows = q.data<double>();
  const auto dot = [&](int64_t a, int64_t b) {
    return std::inner_product(rows + a * d, rows + (a + 1) * d, rows + b * d, 0.0);
  };
  for (int64_t i = 0; i < k; ++i) {
    const double before = std::sqrt(dot(i, i));
    const auto project = [&] {
      for (int pass = 0; pass < 2; ++pass)
        for (int64_t j = 0; j < i; ++j) {
          const double along = dot(i, j);
          for (int64_t c = 0; c < d; ++c) rows[i * d + c] -= along * rows[j * d + c];
        }
      return std::sqrt(dot(i, i));
    };
    double norm = project();
    if (norm <= 1e-12 * before) norm = 0;
    for (int64_t c = 0; norm == 0; ++c) {
      std::fill(rows + i * d, rows + (i + 1) * d, 0.0);
      rows[i * d + c] = 1;
      norm = project();
      if (norm < 0.5 / std::sqrt(static_cast<double>(d))) norm = 0;
    }
    for (int64_t c = 0; c < d; ++c) rows[i * d + c] /= norm;
  }
}

// Eigenvalues by Jacobi's rotations (Golub & Van Loan, section 8.5): the symmetric matrix a (k, k)
// becomes diagonal, the rows of v its eigenvectors.
void diagonalize(std::vector<double>& a, std::vector<double>& v, size_t k) {
  v.assign(k * k, 0);
  for (size_t i = 0; i < k; ++i) v[i * k + i] = 1;
  for (int sweep = 0; sweep < 50; ++sweep) {
    double off = 0, all = 0;
    for (size_t i = 0; i < k * k; ++i) (i % (k + 1) == 0 ? all : off) += a[i] * a[i];
    if (off <= 1e-30 * all) return;
    for (size_t p = 0; p < k; ++p)
      for (size_t q = p + 1; q < k; ++q) {
        if (a[p * k + q] == 0) continue;
        const double tau = (a[q * k + q] - a[p * k + p]) / (2 * a[p * k + q]);
        const double t = (tau >= 0 ? 1 : -1) / (std::fabs(tau) + std::sqrt(1 + tau * tau)),
                     c = 1 / std::sqrt(1 + t * t), s = t * c;
        const auto rotate = [&](double& x, double& y) {
          const double was = x;
          x = c * was - s * y;
          y = s * was + c * y;
        };
        for (size_t i = 0; i < k; ++i) rotate(a[i * k + p], a[i * k + q]);
        for (size_t i = 0; i < k; ++i) rotate(a[p * k + i], a[q * k + i]);
        for (size_t i = 0; i < k; ++i) rotate(v[p * k + i], v[q * k + i]);
      }
  }
}

// A copy of x, minus the mean of its rows where centred.
Tensor prepared(const View& x, bool centred) {
  Tensor rows = matrix(x.rows(), x.cols());
  ops::copy(x, rows);
  if (!centred) return rows;
  const Tensor mean({x.cols()}, DType::float64);
  ops::column_sums(x, {mean});
  ops::scale(1.0 / static_cast<double>(x.rows()), mean, {mean});
  ops::binary(ops::Binary::sub, rows, mean, {rows});
  return rows;
}

// Turns the orthonormal rows of q to the axes of largest variance of x within their span
// (Rayleigh-Ritz). Returns the variances, descending.
std::vector<double> turn_to_axes(const Tensor& x, const Tensor& q) {
  const int64_t k = q.view().rows(), n = x.view().rows();
  const auto count = static_cast<size_t>(k);
  const Tensor scores = matrix(n, k), gram = matrix(k, k);
  ops::matmul(x, false, q, true, {scores});
  ops::matmul(scores, true, scores, false, {gram}, 1.0 / static_cast<double>(n));
  std::vector<double> a = gram.to_vector(), v;
  diagonalize(a, v, count);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return a[i * (count + 1)] > a[j * (count + 1)]; });
  const Tensor turn = matrix(k, k), turned = matrix(k, q.view().cols());
  std::vector<double> variances;
  for (size_t i = 0; i < count; ++i) {
    variances.push_back(std::max(0.0, a[order[i] * (count + 1)]));
    std::copy_n(v.begin() + static_cast<std::ptrdiff_t>(order[i] * count), count,
                turn.data<double>() + i * count);
  }
  ops::matmul(turn, false, q, false, {turned});
  ops::copy(turned, q);
  return variances;
}

void make_signs_definite(const Tensor& axes) {
  const int64_t d = axes.view().cols();
  for (int64_t i = 0; i < axes.view().rows(); ++i) {
    double* const row = axes.data<double>() + i * d;
    const double largest = *std::max_element(
        row, row + d, [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    if (largest < 0) std::transform(row, row + d, row, [](double v) { return -v; });
  }
}

}  // namespace

PrincipalComponents principal_components(const View& x, int64_t k, bool centred, uint64_t seed) {
  const int64_t n = x.rows(), d = x.cols();
  require(k >= 1 && k <= std::min(n, d), "[principal_components] ", n, " rows of ", d,
          " numbers do not have ", k, " components");
  const Tensor rows = prepared(x, centred), axes = matrix(std::min({k + kOversampling, n, d}), d),
               scores = matrix(n, axes.view().rows());
  RandomStream random({.seed = seed, .op = stream_id("principal components")});
  std::generate_n(axes.data<double>(), axes.elements(), [&] { return random.uniform() - 0.5; });
  orthonormalize(axes);
  std::vector<double> variances(static_cast<size_t>(k), -1.0);
  for (int i = 0; i < kMaxIterations; ++i) {
    ops::matmul(rows, false, axes, true, {scores});
    ops::matmul(scores, true, rows, false, {axes}, 1.0 / static_cast<double>(n));
    orthonormalize(axes);
    const std::vector<double> before = std::exchange(variances, turn_to_axes(rows, axes));
    const auto settled = [&](size_t c) {
      return std::fabs(variances[c] - before[c]) <= kTolerance * variances[0];
    };
    bool all = true;
    for (size_t c = 0; c < static_cast<size_t>(k); ++c) all = all && settled(c);
    if (all) break;
  }
  const Tensor wanted = axes.row_range(0, k).clone(), result = matrix(n, k);
  make_signs_definite(wanted);
  ops::matmul(rows, false, wanted, true, {result});
  variances.resize(static_cast<size_t>(k));
  return {wanted, result, variances};
}

}  // namespace nine::app
