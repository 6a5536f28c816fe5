// Parses a formula: the text between { and } of a head `expr:{...}` (docs/expressions.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/expression/expression.h"

namespace nine::expression {

inline constexpr size_t kMaxLength = 2000;  ///< bytes of a formula
inline constexpr int kMaxDepth = 64;        ///< nesting depth of parentheses
inline constexpr int kMaxParameters = 8;

/// A formula as typed.
struct Parsed {
  Graph graph{Graph::Simplify::no};
  Id score = 0;
  /// Names that are not variables, in the order of their first use.
  std::vector<std::string> parameters;
};

/// Parses a formula. UsageError: says what is wrong, with the formula and a mark at the place.
Parsed parse(std::string_view formula);

/// Returns the formula without spaces, and with <= and >= for their one-character forms, as head
/// strings store it.
std::string without_spaces(std::string_view formula);

/// True if a parameter may have that name. `scale` is reserved, because every kernel has it.
bool is_parameter_name(std::string_view name);

}  // namespace nine::expression
