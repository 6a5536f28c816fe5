// Derivatives of expressions, found by the rules of calculus.
#pragma once

#include <string>
#include <vector>

#include "kernels/expression/expression.h"

namespace nine::expression {

/// A step of a derivation: the derivative of one subexpression.
struct Step {
  Id of = 0, derivative = 0;
  std::string rule;
};

/// The derivative of `id` by `by`, a variable or a parameter, which is built in the same graph.
/// Where it has a kink it takes one side: the slope of abs is 0 at 0, that of min and max at a tie
/// is the first argument's, where() has the slope of the side it takes, detach() none. `steps`, if
/// not null, gets those of all subexpressions that depend on `by`, arguments first.
Id derivative(Graph& graph, Id id, Id by, std::vector<Step>* steps = nullptr);

}  // namespace nine::expression
