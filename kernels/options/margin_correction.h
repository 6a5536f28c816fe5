// What a cosine margin does to the probabilities that a model learns, in closed form, and how it is
// undone (docs/margins.md).
//
// With M_v = F_v G m and kappa_v = 1 - e^-M_v, the loss with the margin is -log p_y + log(1 -
// kappa_y p_y) + M_y of the softmax p without it. For data from q its minimum over all p satisfies
// p_v (1 - kappa_v p_v) = lambda q_v.
#pragma once

#include <span>
#include <vector>

namespace nine {

/// log p of every word in place: log p_v becomes log q_v, q_v in proportion to p_v (1 - kappa_v
/// p_v). sizes: M_v >= 0 of each word. Error: not one size a word.
void undo_cos_margin(std::span<double> log_p, std::span<const double> sizes);
/// The p that belongs to q (positive, of sum 1): the inverse of the above. Error: not one size a
/// word.
std::vector<double> cos_margin_optimum(std::span<const double> q, std::span<const double> sizes);

}  // namespace nine
