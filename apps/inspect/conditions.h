// Kanai's four conditions on a softmax score (Kanai et al., Sigsoftmax, NeurIPS 2018), tried on
// random vectors.
#pragma once

#include <string>

#include "kernels/scores/score.h"

namespace nine::app {

/// A head's p is g(S) over its sum with g = exp. The paper's conditions on g o S: log g non-linear,
/// so that the log-probabilities' rank is not bound to d; a numerically stable gradient; g >= 0
/// (exp always is); S increasing with z.
struct Conditions {
  /// S(w1, h) - S(w2, h) is not affine in h: its value at the middle of two points differs from the
  /// mean of the values there.
  bool nonlinear = false;
  /// The gradient of that difference by h is bounded, close to a word (1e-6) and far away (1e4).
  bool stable = false;
  bool nonnegative = true;     ///< e^S >= 0
  bool increasing = false;     ///< dS/dz >= 0 at fixed statistics of both vectors
  double least = 0, most = 0;  ///< the range of S at scales from 0.01 to 100
};

/// Tries the conditions on random vectors, the same at every call.
Conditions conditions_of(const Score& score);

/// The conditions as a table with a row for each kernel with its default parameters.
std::string conditions_text();

}  // namespace nine::app
