// Tries Kanai's four conditions on a softmax score (Kanai et al., Sigsoftmax, NeurIPS 2018) on
// random vectors.
#pragma once

#include <string>

#include "kernels/scores/score.h"

namespace nine::app {

/// The results. The p of a head is g(S) divided by its sum, with g = exp. The paper's conditions on
/// g o S are: log g is non-linear, so that the rank of the log-probabilities is not limited by d;
/// the gradient is numerically stable; g >= 0, which always holds for exp; S increases with z.
struct Conditions {
  /// True if S(w1, h) - S(w2, h) is not affine in h: its value at the middle of two points differs
  /// from the mean of its values at these points.
  bool nonlinear = false;
  /// True if the gradient of this difference by h is bounded, close to a word (1e-6) and far away
  /// (1e4).
  bool stable = false;
  bool nonnegative = true;     ///< e^S >= 0
  bool increasing = false;     ///< dS/dz >= 0 at fixed statistics of both vectors
  double least = 0, most = 0;  ///< the range of S for vectors at scales from 0.01 to 100
};

/// Tries the conditions on random vectors, which are the same in every call.
Conditions conditions_of(const Score& score);

/// Returns the conditions as a table, with a row for each kernel with its default parameters.
std::string conditions_text();

}  // namespace nine::app
