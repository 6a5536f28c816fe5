// Kanai's four conditions on a softmax score (Kanai et al., Sigsoftmax, NeurIPS 2018), tried on
// random vectors.
#pragma once

#include <string>

#include "kernels/scores/score.h"

namespace nine::app {

/// A head's p is g(S) over its sum with g = exp. The paper asks g o S for: log g non-linear, so
/// that the log-probabilities' rank is not bound to d; a numerically stable gradient; g >= 0 (exp
/// always is); S increasing with z.
struct Conditions {
  bool nonlinear =
      false;  ///< S(w1, h) - S(w2, h) is not affine in h: some midpoint is off the chord's
  bool stable = false;  ///< the gradient of that difference by h is bounded, close to a word (1e-6)
                        ///< and far away (1e4)
  bool nonnegative = true;     ///< of e^S
  bool increasing = false;     ///< dS/dz >= 0, the statistics of both vectors held
  double least = 0, most = 0;  ///< S seen at scales from 0.01 to 100
};
Conditions conditions_of(const Score& score);

/// A row a kernel with its default parameters.
std::string conditions_text();

}  // namespace nine::app
