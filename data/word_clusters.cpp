#include "data/word_clusters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nine {
namespace {

double inner_product(const double* a, const double* b, size_t width) {
  return std::inner_product(a, a + width, b, 0.0);
}

double distance_of(const double* a, const double* b, size_t width, WordDistance distance) {
  if (distance == WordDistance::inner) return -inner_product(a, b, width);
  if (distance == WordDistance::euclidean) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
  }
  const double norms = std::sqrt(inner_product(a, a, width) * inner_product(b, b, width));
  return norms > 0 ? 1 - inner_product(a, b, width) / norms : 1;
}

WordCluster cluster_of(const double* row, size_t word, size_t n, size_t size) {
  std::vector<size_t> others(n);
  std::iota(others.begin(), others.end(), size_t{0});
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(word));
  const auto neighbours = static_cast<std::ptrdiff_t>(size - 1);
  std::partial_sort(others.begin(), others.begin() + neighbours, others.end(),
                    [&](size_t a, size_t b) { return row[a] != row[b] ? row[a] < row[b] : a < b; });
  WordCluster cluster{.words = {word}};
  cluster.words.insert(cluster.words.end(), others.begin(), others.begin() + neighbours);
  for (size_t i = 1; i < size; ++i) cluster.distance += row[cluster.words[i]];
  return cluster;
}

}  // namespace

std::vector<double> word_distances(std::span<const double> vectors, size_t width,
                                   WordDistance distance) {
  require(width > 0 && vectors.size() % width == 0, "[word_distances] ", vectors.size(),
          " numbers are not rows of ", width);
  const size_t n = vectors.size() / width;
  std::vector<double> distances(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < i; ++j)
      distances[i * n + j] = distances[j * n + i] =
          distance_of(&vectors[i * width], &vectors[j * width], width, distance);
  return distances;
}

std::vector<WordCluster> closest_clusters(std::span<const double> distances, size_t size,
                                          size_t count) {
  const auto n =
      static_cast<size_t>(std::llround(std::sqrt(static_cast<double>(distances.size()))));
  require(n * n == distances.size(), "[closest_clusters] ", distances.size(),
          " distances are not those between all pairs of some words");
  require(size >= 2 && size <= n, "[closest_clusters] clusters of ", size, " words of ", n,
          ": at least 2 and at most all words can be in one");
  std::vector<WordCluster> all;
  for (size_t w = 0; w < n; ++w) all.push_back(cluster_of(&distances[w * n], w, n, size));
  std::stable_sort(all.begin(), all.end(), [](const WordCluster& a, const WordCluster& b) {
    return a.distance < b.distance;
  });
  std::vector<bool> taken(n);
  std::vector<WordCluster> found;
  for (WordCluster& cluster : all) {
    if (found.size() == count) break;
    if (std::any_of(cluster.words.begin(), cluster.words.end(), [&](size_t w) { return taken[w]; }))
      continue;
    for (const size_t w : cluster.words) taken[w] = true;
    found.push_back(std::move(cluster));
  }
  return found;
}

}  // namespace nine
