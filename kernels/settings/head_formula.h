// The component `expr:{FORMULA}:NAME=VALUE:...` of a head string.
#pragma once

#include <string>
#include <string_view>

#include "kernels/scores/score.h"

namespace nine {

/// Whether a component is a formula: "expr" or "expr:...".
bool is_formula(std::string_view component);

/// Reads such a component; a UsageError names the place in the formula, or the parameter.
Score parse_formula(std::string_view component);
/// The component in full, without spaces: parse_formula() of it is the same score.
std::string formula_text(const Score& score);

}  // namespace nine
