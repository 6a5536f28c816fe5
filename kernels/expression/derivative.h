// Computes derivatives of expressions by the rules of calculus.
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

/// Returns the derivative of `id` with respect to `by`, a variable or a parameter, built in the
/// same graph. At a kink it takes one side: abs has slope 0 at 0; min and max at a tie have the
/// first argument's slope; where() has the slope of the chosen side. detach() has no slope. Appends
/// to `steps`, if not null, the steps of all subexpressions that depend on `by`, arguments first.
Id derivative(Graph& graph, Id id, Id by, std::vector<Step>* steps = nullptr);

}  // namespace nine::expression
