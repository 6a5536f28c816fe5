// Writes the derivation of a formula's slopes as HTML and MathML, for the pages of --explain.
#pragma once

#include <string>
#include <vector>

#include "kernels/expression/kernel_lines.h"

namespace nine::app {

/// Returns "left = right" as MathML, in parts between which a line may break (mathml_parts).
std::vector<std::string> equals_mathml(const std::string& left, std::vector<std::string> right);

/// Returns a line of a list of steps. `formula` is MathML without <math>, in parts between which a
/// line may break. `numbers` and `rule` are text and may be empty.
std::string step_html(const std::vector<std::string>& formula, const std::string& numbers,
                      const std::string& rule);

/// A line symbol = formula. The symbol is S or a part of it (u_1), a slope (du_1/dww), or the
/// operator d/dww, applied to `of`.
struct DerivationLine {
  std::string symbol, of, formula, rule;
};
/// The lines of the score (`by` is empty), or of its slopes by a variable.
struct DerivationPart {
  std::string by;
  std::vector<DerivationLine> lines;
};
/// Returns the lines of a formula and of its derivatives by each of its variables, with the rule of
/// each subexpression. The parts of a long formula have names, and slopes use the names of earlier
/// parts. Formulas have the form of apps/inspect/arithmetic.h and follow from the lines above.
std::vector<DerivationPart> derivation(const std::string& formula);
std::string derivation_html(const std::string& formula);
/// Returns the lines of a kernel and its slopes by each line. For a kernel of one line, the lines
/// are those of a formula.
std::string derivation_html(const expression::KernelLines& lines);

}  // namespace nine::app
