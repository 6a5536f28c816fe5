// Reading a formula, the text between { and } of a head `expr:{...}` (docs/expressions.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/expression/expression.h"

namespace nine::expression {

inline constexpr size_t kMaxLength = 2000;  ///< bytes of a formula
inline constexpr int kMaxDepth = 64;        ///< parentheses within parentheses
inline constexpr int kMaxParameters = 8;

/// A formula as it was typed.
struct Parsed {
  Graph graph{Graph::Simplify::no};
  Id score = 0;
  std::vector<std::string> parameters;  ///< names that are no variable, as they first occur
};

/// UsageError: what is wrong, with the formula and a mark at the place.
Parsed parse(std::string_view formula);

/// The formula without spaces, and with <= and >= for their one-character forms: how head strings
/// store it.
std::string without_spaces(std::string_view formula);

/// Whether a parameter may have that name; `scale` is every kernel's.
bool is_parameter_name(std::string_view name);

}  // namespace nine::expression
