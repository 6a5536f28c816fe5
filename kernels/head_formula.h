// The component `expr:{FORMULA}:NAME=VALUE:...` of a head string, and how head strings are cut into
// parts: nothing between { and } is grammar.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/scores/score.h"

namespace nine {

/// The parts of a head string between the characters `at` that are not within braces.
std::vector<std::string_view> split_head(std::string_view text, char at);
/// Where one of `characters` first stands outside of braces; npos: nowhere.
size_t find_outside_braces(std::string_view text, std::string_view characters);
/// Whether a component is a formula: "expr" or "expr:...".
bool is_formula(std::string_view component);

/// Reads such a component; a UsageError names the place in the formula, or the parameter.
Score parse_formula(std::string_view component);
/// The component in full, without spaces: parse_formula() of it is the same score.
std::string formula_text(const Score& score);

}  // namespace nine
