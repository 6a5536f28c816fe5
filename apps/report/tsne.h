// t-SNE (van der Maaten & Hinton, 2008): from many dimensions to two, with neighbours kept
// together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace nine::app {

/// Parameters of t-SNE.
struct TsneSettings {
  double perplexity = 30;     ///< about how many neighbours of a row count; at most n / 3
  int64_t iterations = 1000;  ///< of gradient descent
  double rate = 0;            ///< step size; 0: n / 12 (Belkina et al., 2019)
};

/// Symmetric affinities p_ij of x (n, d), float64, n x n with sum 1: a Gaussian around each row,
/// as wide as gives the row's distribution the perplexity (section 2 and 3.1). Error: fewer than 4
/// rows, or than 3 x perplexity.
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

}  // namespace nine::app
