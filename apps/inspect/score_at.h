// Computes one kernel's score and exact gradient at two vectors, by the kernel's own struct.
#pragma once

#include <vector>

#include "kernels/settings/head.h"

namespace nine::app {

/// A score S(w, h) with its gradients.
struct ScoreAt {
  double value = 0;
  std::vector<double> dw, dh;  ///< dS/dw, dS/dh
};

/// Returns S(w, h) with its gradients. w and h have the same size, which the kernel must allow
/// (HeadSpec::check).
ScoreAt score_at(const Score& score, const std::vector<double>& w, const std::vector<double>& h);

/// Returns dS/dz of one pair of parts; w and h are the numbers of these parts.
double slope_by_product(const Score& score, const std::vector<double>& w,
                        const std::vector<double>& h);

/// Returns the smallest vector size at which an example shows every part of the kernel: 2 numbers
/// and, if needed, one for a log-variance or radius, for each component of mog.
int64_t example_size(const Score& score);
/// Returns the smallest vector size that every component allows.
int64_t example_size(const HeadSpec& head);
/// True if the score is a function of the product z = w.h alone, as for lin.
bool is_inner_product_kernel(const Score& score);

}  // namespace nine::app
