// The derivation of a formula (expr): what it is simplified to, the derivative of each
// subexpression with the rule that gives it, and estimates of its range and of Kanai's conditions.
#pragma once

#include <string>

#include "kernels/scores/score.h"

namespace nine::app {

/// The derivation as text of several lines, of a score of kind expr.
std::string derivation_text(const Score& score);

struct FormulaRange {
  double least = 0, most = 0;
};
/// The least and the largest value that a formula of q alone had on a grid of q from 0 to 1e6.
FormulaRange range_over_distance(const Score& score);

}  // namespace nine::app
