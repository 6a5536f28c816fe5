// Principal component analysis, for pictures of word vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace nine::app {

/// The result of principal component analysis, float64.
struct PrincipalComponents {
  Tensor axes;    ///< (k, d): orthonormal, by variance; the largest component of each is positive
  Tensor scores;  ///< (n, k): the rows of x on those axes, minus their mean where centred
  std::vector<double> variances;  ///< (k): mean squares of the scores, descending
};

/// The `k` directions of largest variance of x (n, d), float64, by subspace iteration (Halko et
/// al., 2011, section 4.5) from a random start given by `seed`. `centred`: about the rows' mean, as
/// usual; otherwise about the origin, which keeps the directions of the vectors themselves.
/// Error: k is not in 1..min(n, d).
PrincipalComponents principal_components(const View& x, int64_t k, bool centred, uint64_t seed);

}  // namespace nine::app
