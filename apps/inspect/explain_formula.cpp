#include "apps/inspect/explain_formula.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "apps/inspect/conditions.h"
#include "apps/inspect/worked_example.h"
#include "core/error.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/parse.h"

namespace nine::app {
namespace {

using expression::Variable;

constexpr Variable kVariables[] = {Variable::z, Variable::q, Variable::ww, Variable::hh,
                                   Variable::c};

// Four digits: these are no exact bounds.
std::string rounded(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", x == 0 ? 0.0 : x);
  return text.data();
}

std::string estimates(const Score& score) {
  const auto word = [](bool yes) { return yes ? "yes" : "no"; };
  const Conditions c = conditions_of(score);
  std::string text = concat(
      "  estimates, on random vectors: not affine in h ", word(c.nonlinear), ", bounded gradient ",
      word(c.stable), ", e^S not negative yes, S never falls as z grows ", word(c.increasing),
      " (Kanai's conditions); S from ", rounded(c.least), " to ", rounded(c.most));
  const expression::Formula& f = *score.formula;
  const bool radial = f.uses(Variable::q) && !f.uses(Variable::z) && !f.uses(Variable::ww) &&
                      !f.uses(Variable::hh) && !f.uses(Variable::c);
  if (!radial) return text;
  const FormulaRange range = range_over_distance(score);
  return text + concat("\n  estimate, on a grid of q from 0 to 1e6: S within [",
                       rounded(range.least), ", ", rounded(range.most), "]");
}

}  // namespace

FormulaRange range_over_distance(const Score& score) {
  const expression::Formula& f = *score.formula;
  FormulaRange range{INFINITY, -INFINITY};
  constexpr int kSteps = 1200;  // a hundredth of a power of ten each
  for (int k = -1; k <= kSteps; ++k) {
    expression::Variables at{};
    at[static_cast<size_t>(Variable::q)] = k < 0 ? 0 : std::pow(10, -6 + 0.01 * k);
    const double s = expression::evaluate(f.graph(), f.score_id(), at, score.parameters);
    if (std::isnan(s)) continue;
    range.least = std::min(range.least, s);
    range.most = std::max(range.most, s);
  }
  return range;
}

std::string derivation_text(const Score& score) {
  const expression::Parsed typed = expression::parse(score.formula->text());
  const auto& names = typed.parameters;
  expression::Graph graph;
  const expression::Id root = expression::rebuild(typed.graph, typed.score, graph, {});
  std::string text = concat("As typed:   S = ", to_text(typed.graph, typed.score, names),
                            "\nSimplified: S = ", to_text(graph, root, names));
  for (const Variable v : kVariables) {
    if (!score.formula->uses(v)) continue;
    std::vector<expression::Step> steps;
    const expression::Id slope = derivative(graph, root, graph.variable(v), &steps);
    text += concat("\n\nBy ", name_of(v), ":");
    size_t width = 0;
    std::vector<std::string> left;
    for (const expression::Step& s : steps) {
      left.push_back(concat("d/d", name_of(v), " [", to_text(graph, s.of, names),
                            "] = ", to_text(graph, s.derivative, names)));
      width = std::max(width, std::min<size_t>(left.back().size(), 72));
    }
    for (size_t k = 0; k < steps.size(); ++k)
      text += concat("\n  ", padded(left[k], width), "  (", steps[k].rule, ")");
    text += concat("\n  dS/d", name_of(v), " = ", to_text(graph, slope, names));
  }
  text += "\n\n";
  if (score.formula->uses(Variable::q))
    text += "q = ww + hh - 2z: through q, dS/dw = 2 dS/dq (w - h) = -dS/dh; 0 where q = 0\n";
  if (score.formula->uses(Variable::c))
    text += "c = z/(|w||h|): through c, dS/dw = dS/dc (h/|h| - c w/|w|)/|w|; 0 where |c| = 1\n";
  return text + estimates(score);
}

}  // namespace nine::app
