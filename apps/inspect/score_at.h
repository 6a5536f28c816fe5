// One kernel's score and exact gradient at two vectors, by the kernel's own struct.
#pragma once

#include <vector>

#include "kernels/settings/head.h"

namespace nine::app {

/// A score S(w, h) with its gradients.
struct ScoreAt {
  double value = 0;
  std::vector<double> dw, dh;  ///< dS/dw, dS/dh
};

/// S(w, h) with its gradients; w and h have the same size, which the kernel must allow
/// (HeadSpec::check).
ScoreAt score_at(const Score& score, const std::vector<double>& w, const std::vector<double>& h);

/// dS/dz of one pair of parts, whose numbers w and h are.
double slope_by_product(const Score& score, const std::vector<double>& w,
                        const std::vector<double>& h);

/// The smallest vector size at which an example has every part of the kernel: 2 numbers and one for
/// a log-variance or radius, for each of mog's components.
int64_t example_size(const Score& score);
/// The smallest that every component allows.
int64_t example_size(const HeadSpec& head);
/// Whether the score is a function of the product z = w.h alone, as that of lin is.
bool is_inner_product_kernel(const Score& score);

}  // namespace nine::app
