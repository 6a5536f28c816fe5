// A program of expressions as JavaScript, for pages that compute what the engine computes.
#pragma once

#include <string>

#include "kernels/expression/program.h"

namespace nine::expression {

/// A function `(z, q, ww, hh, c, d, P) => [...]` that returns the program's outputs; P holds the
/// parameters in their order. Functions that JavaScript lacks are those of javascript_functions().
std::string to_javascript(const Program& program, const Constants& constants);

/// Definitions of the functions that JavaScript lacks: sigmoid, softplus, erf.
std::string javascript_functions();

}  // namespace nine::expression
