// One kernel's score and exact gradient at two vectors, by the kernel's own struct.
#pragma once

#include <vector>

#include "kernels/scores/score.h"

namespace nine::app {

struct ScoreAt {
  double value = 0;
  std::vector<double> dw, dh;  ///< dS/dw, dS/dh
};

/// S(w, h) with its gradients; w and h have the same size, which the kernel must accept
/// (HeadSpec::check).
ScoreAt score_at(const Score& score, const std::vector<double>& w, const std::vector<double>& h);

/// Vectors of the fewest numbers that show the kernel: 2, and one for each log-variance or radius;
/// for each of mog's components.
int64_t shown_size(const Score& score);
/// Whether the score is a function of the product z alone, such as lin's.
bool of_product(const Score& score);

}  // namespace nine::app
