// Computes the value of an expression for one pair of vectors, in double. Tests compare the
// vectorised programs (kernels/expression/program.h) with it, and it explains scores that are not
// finite.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/expression/expression.h"

namespace nine::expression {

/// The values of the variables, indexed by Variable.
using Variables = std::array<double, kVariables>;

/// Returns the value of an operator or function of the numbers x.
double apply(Op op, const double* x);
/// Returns the values of all nodes of the graph up to `last`.
std::vector<double> evaluate_all(const Graph& graph, Id last, const Variables& variables,
                                 std::span<const double> parameters);
/// Returns the value of one node.
double evaluate(const Graph& graph, Id id, const Variables& variables,
                std::span<const double> parameters);

}  // namespace nine::expression
