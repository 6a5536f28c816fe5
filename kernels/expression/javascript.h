// Writes a program of expressions as JavaScript, for pages that compute as the engine does.
#pragma once

#include <string>

#include "kernels/expression/program.h"

namespace nine::expression {

/// Returns a function `(z, q, ww, hh, c, d, P) => [...]` that returns the program's outputs; P
/// holds the parameters in their order. It uses javascript_functions() where JavaScript lacks a
/// function.
std::string to_javascript(const Program& program, const Constants& constants);

/// Returns definitions of the functions that JavaScript lacks: sigmoid, softplus, erf.
std::string javascript_functions();

}  // namespace nine::expression
