// The derivation of a formula (expr): its simplified form, the derivative of each subexpression
// with its rule, and estimates of the formula's range and of Kanai's conditions.
#pragma once

#include <string>

#include "kernels/scores/score.h"

namespace nine::app {

/// Returns the derivation of a score of kind expr, as text of several lines.
std::string derivation_text(const Score& score);

struct FormulaRange {
  double least = 0, most = 0;
};
/// The least and the largest value of a formula of q alone, on a grid of q from 0 to 1e6.
FormulaRange range_over_distance(const Score& score);

}  // namespace nine::app
