// Computes the effect of a cosine margin on the learned probabilities in closed form, and undoes it
// (docs/margins.md).
//
// Let M_v = F_v G m and kappa_v = 1 - e^-M_v. The loss with the margin is -log p_y + log(1 -
// kappa_y p_y) + M_y, where p is the softmax without the margin. For data from q, its minimum over
// all p satisfies p_v (1 - kappa_v p_v) = lambda q_v.
#pragma once

#include <span>
#include <vector>

namespace nine {

/// Undoes the margin in log p of every word, in place: log p_v becomes log q_v, with q_v
/// proportional to p_v (1 - kappa_v p_v). sizes: M_v >= 0 of each word. Error: the number of sizes
/// is not the number of words.
void undo_cos_margin(std::span<double> log_p, std::span<const double> sizes);
/// Returns the p that belongs to q (positive, with sum 1): the inverse of undo_cos_margin(). Error:
/// the number of sizes is not the number of words.
std::vector<double> cos_margin_optimum(std::span<const double> q, std::span<const double> sizes);

}  // namespace nine
