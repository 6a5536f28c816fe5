// The value of an expression for one pair of vectors, in double: what the vectorised programs
// (kernels/expression/program.h) are held against, and what explains a score that is not finite.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/expression/expression.h"

namespace nine::expression {

/// The values of the variables, by Variable.
using Variables = std::array<double, kVariables>;

/// An operator or function of the numbers x.
double apply(Op op, const double* x);
/// The value of every node of the graph up to `last`.
std::vector<double> evaluate_all(const Graph& graph, Id last, const Variables& variables,
                                 std::span<const double> parameters);
/// The value of one.
double evaluate(const Graph& graph, Id id, const Variables& variables,
                std::span<const double> parameters);

}  // namespace nine::expression
