// Short exact forms of numbers, which can be written with a pencil.
#pragma once

#include <string>

namespace nine::app {

/// True if x has three decimals at most.
bool is_decimal(double x);

/// Returns a short exact form of x in the language of worked examples (SymbolTable::read): a
/// decimal or a fraction, which may be multiplied by a root, a power of e, a logarithm, pi or a
/// product of two of these; a logarithm of a fraction; or a decimal minus such a logarithm. Returns
/// an empty text if x has no short form. `tolerance` is relative; a large tolerance allows small
/// coefficients only.
std::string short_form(double x, double tolerance = 1e-11);

}  // namespace nine::app
