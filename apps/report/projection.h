// From many dimensions to two: principal components and t-SNE, for pictures of word vectors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace nine::report {

/// What principal component analysis found, float64.
struct Principal {
  Tensor axes;    ///< (k, d): orthonormal, by variance; the largest component of each is positive
  Tensor scores;  ///< (n, k): the rows of x on those axes, minus their mean where centred
  std::vector<double> variances;  ///< (k): mean squares of the scores, descending
};

/// The `k` directions of largest variance of x (n, d), float64, by subspace iteration (Halko et
/// al., 2011, section 4.5) from a start that follows from `seed`. `centred`: about the rows' mean,
/// as usual; otherwise about the origin, where directions keep their meaning. k <= min(n, d).
Principal principal_components(const View& x, int64_t k, bool centred, uint64_t seed);

struct TsneSettings {
  double perplexity = 30;     ///< neighbours that count, about; below n / 3
  int64_t iterations = 1000;  ///< of gradient descent
  double rate = 0;            ///< 0: n / 12 (Belkina et al., 2019); far above it few rows fly apart
};

/// Symmetric affinities p_ij of x (n, d), float64, n x n with sum 1: Gaussian around each row, its
/// width such that the row's distribution has the perplexity (van der Maaten & Hinton, 2008,
/// section 2 and 3.1).
std::vector<double> tsne_affinities(const View& x, double perplexity);

/// KL(P || Q) of places y (n pairs x, y) with Student's t affinities q_ij, and its gradient, as
/// many numbers as y. The attracting part is multiplied by `exaggeration`; the value never is. Same
/// bits with any number of threads.
double tsne_gradient(std::span<const double> p, std::span<const double> y, double exaggeration,
                     std::span<double> gradient);

/// Exact t-SNE: n pairs, centred, started from the first two principal components (Kobak & Berens,
/// 2019), so that far distances mean something and the result follows from x alone. Quadratic in n:
/// for a few thousand rows.
std::vector<double> tsne(const View& x, const TsneSettings& settings, uint64_t seed);

}  // namespace nine::report
