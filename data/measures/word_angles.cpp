#include "data/measures/word_angles.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"

namespace nine {
namespace {

constexpr double kDegrees = 180 / std::numbers::pi;

double cosine(const double* a, const double* b, size_t width) {
  const double norms = std::sqrt(std::inner_product(a, a + width, a, 0.0) *
                                 std::inner_product(b, b + width, b, 0.0));
  return norms > 0 ? std::clamp(std::inner_product(a, a + width, b, 0.0) / norms, -1.0, 1.0) : 0;
}

// Returns ranks from 1; equal values share the mean of their ranks.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (size_t i = first; i < last; ++i)
      ranks[order[i]] = 0.5 * static_cast<double>(first + 1 + last);
  }
  return ranks;
}

// Subtracts the mean and divides by the length, so that the inner product of two results is a
// correlation.
std::vector<double> standardized(std::vector<double> values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double squares = 0;
  for (double& v : values) v -= mean, squares += v * v;
  if (squares > 0)
    for (double& v : values) v /= std::sqrt(squares);
  return values;
}

std::vector<double> below_diagonal(std::span<const double> matrix, size_t n) {
  std::vector<double> cells;
  for (size_t i = 0; i < n; ++i)
    cells.insert(cells.end(), matrix.begin() + static_cast<std::ptrdiff_t>(i * n),
                 matrix.begin() + static_cast<std::ptrdiff_t>(i * n + i));
  return cells;
}

// Returns the place of cell (i, j) in below_diagonal().
size_t cell_of(size_t i, size_t j) { return i > j ? i * (i - 1) / 2 + j : j * (j - 1) / 2 + i; }

std::vector<size_t> permutation(size_t n, uint64_t seed, int64_t number) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  RandomStream random(
      {.seed = seed, .step = static_cast<uint32_t>(number), .op = stream_id("permutation")});
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace

double angle_between(std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size(), "[angle_between] vectors of ", a.size(), " and ", b.size(),
          " numbers");
  return kDegrees * std::acos(cosine(a.data(), b.data(), a.size()));
}

double mean_nearest_angle(std::span<const double> vectors, size_t width) {
  const std::vector<double> cosines = cosine_matrix(vectors, width);
  const size_t n = vectors.size() / width;
  require(n >= 2, "[mean_nearest_angle] ", n, " vectors: two or more are needed");
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    double nearest = -1;
    for (size_t j = 0; j < n; ++j)
      if (j != i) nearest = std::max(nearest, cosines[i * n + j]);
    sum += kDegrees * std::acos(nearest);
  }
  return sum / static_cast<double>(n);
}

double circular_variance(std::span<const double> degrees) {
  require(!degrees.empty(), "[circular_variance] there is no angle");
  double x = 0, y = 0;
  for (const double d : degrees) x += std::cos(d / kDegrees), y += std::sin(d / kDegrees);
  return 1 - std::hypot(x, y) / static_cast<double>(degrees.size());
}

double largest_gap(std::span<const double> degrees) {
  require(!degrees.empty(), "[largest_gap] there is no angle");
  std::vector<double> sorted;
  for (const double d : degrees) sorted.push_back(d - 360 * std::floor(d / 360));
  std::sort(sorted.begin(), sorted.end());
  double gap = sorted.front() + 360 - sorted.back();
  for (size_t i = 1; i < sorted.size(); ++i) gap = std::max(gap, sorted[i] - sorted[i - 1]);
  return gap;
}

std::vector<double> cosine_matrix(std::span<const double> vectors, size_t width) {
  require(width > 0 && vectors.size() % width == 0, "[cosine_matrix] ", vectors.size(),
          " numbers are not rows of ", width);
  const size_t n = vectors.size() / width;
  std::vector<double> cosines(n * n);
  parallel_for(
      static_cast<int64_t>(n),
      [&](int64_t row) {
        const auto i = static_cast<size_t>(row);
        for (size_t j = 0; j < n; ++j)
          cosines[i * n + j] = cosine(&vectors[i * width], &vectors[j * width], width);
      },
      6.0 * static_cast<double>(n * n * width));
  return cosines;
}

double spearman(std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size() && a.size() >= 2, "[spearman] ", a.size(), " and ", b.size(),
          " values: needs two lists of the same length, with at least two values");
  const std::vector<double> x = standardized(ranks_of(a)), y = standardized(ranks_of(b));
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

MantelTest mantel_test(std::span<const double> a, std::span<const double> b, int64_t permutations,
                       uint64_t seed) {
  const auto n = static_cast<size_t>(std::llround(std::sqrt(static_cast<double>(a.size()))));
  require(a.size() == b.size() && n * n == a.size() && n >= 3 && permutations >= 1,
          "[mantel_test] matrices of ", a.size(), " and ", b.size(), " cells, ", permutations,
          " permutations: both matrices must be n x n with n of 3 or more, and at least one "
          "permutation is needed");
  const std::vector<double> x = standardized(ranks_of(below_diagonal(a, n))),
                            y = standardized(ranks_of(below_diagonal(b, n)));
  MantelTest test{.correlation = std::inner_product(x.begin(), x.end(), y.begin(), 0.0)};
  std::vector<char> reached(static_cast<size_t>(permutations));
  parallel_for(
      permutations,
      [&](int64_t p) {
        const std::vector<size_t> order = permutation(n, seed, p);
        double correlation = 0;
        for (size_t i = 1, cell = 0; i < n; ++i)
          for (size_t j = 0; j < i; ++j, ++cell)
            correlation += x[cell] * y[cell_of(order[i], order[j])];
        reached[static_cast<size_t>(p)] = correlation >= test.correlation - 1e-12 ? 1 : 0;
      },
      4.0 * static_cast<double>(permutations) * static_cast<double>(n * n));
  const auto as_high = std::count(reached.begin(), reached.end(), 1);
  test.p = static_cast<double>(1 + as_high) / static_cast<double>(1 + permutations);
  return test;
}

}  // namespace nine
