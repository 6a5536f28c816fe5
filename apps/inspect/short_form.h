// Numbers that come out: those a pencil can write down.
#pragma once

#include <string>

namespace nine::app {

/// Whether x has three decimals at most.
bool is_decimal(double x);

/// A short exact form in the language of worked examples (SymbolTable::read): a decimal or a
/// fraction, alone or times a root, a power of e, a logarithm, pi or products of two of these; a
/// logarithm of a fraction; a decimal minus such a logarithm. Empty where x has none. `tolerance`:
/// relative; one that is large takes small coefficients only.
std::string short_form(double x, double tolerance = 1e-11);

}  // namespace nine::app
