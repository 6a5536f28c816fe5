#include "apps/inspect/kernel_formulas.h"

#include <cmath>
#include <numbers>

#include "core/error.h"
#include "kernels/expression/javascript.h"
#include "kernels/expression/kernel_lines.h"
#include "kernels/expression/pair_slopes.h"
#include "kernels/expression/parse.h"
#include "kernels/settings/head.h"

namespace nine::app {
namespace {

Slider positive(const char* name, double value) {
  return {name, value, 0.1, std::max(4.0, 2 * value), 0.05};
}

// Within what the kernel allows, on the value's side of 0 where only that is allowed.
Slider slider_of(const Score& score, int parameter, const std::string& name) {
  const double value = score.number(parameter);
  const auto allowed = [&](double x) {
    Score other = score;
    other.number(parameter) = x;
    return check_score(other, -1).empty();
  };
  if (!allowed(value + 0.5)) return {name, value, 1, std::max(6.0, value), 1};
  const double reach = std::max(2.0, 2 * std::abs(value)), step = reach / 100;
  const bool any = allowed(0) && allowed(-value) && (score.formula == nullptr || value <= 0);
  return {name, value, any || value < 0 ? -reach : step, any || value > 0 ? reach : -step, step};
}

// cos(m theta) as a polynomial of c = cos theta, T_(i+1) = 2 c T_i - T_(i-1).
std::string chebyshev(int m) {
  std::vector<int64_t> before{1}, now{0, 1};
  for (int i = 1; i < m; ++i) {
    std::vector<int64_t> next(now.size() + 1);
    for (size_t k = 0; k < now.size(); ++k) next[k + 1] = 2 * now[k];
    for (size_t k = 0; k < before.size(); ++k) next[k] -= before[k];
    before = std::move(now), now = std::move(next);
  }
  std::string out;
  for (size_t k = now.size(); k-- > 0;)
    if (now[k] != 0)
      out += concat(now[k] > 0 && !out.empty() ? "+" : "", now[k],
                    k > 1   ? concat("*c^", k)
                    : k > 0 ? "*c"
                            : "");
  return out;
}

}  // namespace

PageKernel page_kernel(const Score& score) {
  const auto parameters = kernel_info(score).parameters;
  const expression::KernelLines lines(kernel_expression(score), parameters);
  PageKernel page{.expression = kernel_expression(score), .formula = lines.one_formula()};
  for (size_t k = 0; k < parameters.size(); ++k)
    if (const char* name = parameters[k].name_in_formulas(); lines.uses(name))
      page.sliders.push_back(slider_of(score, static_cast<int>(k), name));
  if (score.scale == 1 && !score.learns(kScaleNumber)) return page;
  if (page.expression.combine == Combine::mixture)
    page.factor = "factor";  // of the logarithm of a sum over pairs, not of each pair
  else
    page.formula = concat("factor*(", page.formula, ")");
  page.sliders.push_back(positive("factor", score.scale));
  return page;
}

std::string margin_formula(const Margin& margin) {
  const std::string norms = "F*G*";
  switch (margin.kind) {
    case Margin::Kind::cos:
      return norms + "(c-m)";
    case Margin::Kind::arc:  // beyond pi - m: c - m sin m
      return norms + "where(c<-cos(m),c-m*sin(m),cos(m)*c-sin(m)*s)";
    case Margin::Kind::lsm: {
      // Signs and steps of the pieces, from the largest cosine down.
      const int m = static_cast<int>(margin.size);
      std::string signs, steps, end;
      for (int k = 0; k + 1 < m; ++k) {
        double edge = std::cos(std::numbers::pi * (k + 1) / m);
        // 0 and 1/2 but for rounding; pieces meet there, so either will do.
        if (const double r = std::round(2 * edge) / 2; std::abs(edge - r) < 1e-15) edge = r + 0.0;
        const std::string piece = concat("where(", edge, "<=c,");
        signs += concat(piece, k % 2 == 0 ? "1," : "-1,");
        steps += concat(piece, 2 * k, ",");
        end += ')';
      }
      return concat(norms, "((", chebyshev(m), ")*", signs, (m - 1) % 2 == 0 ? "1" : "-1", end, "-",
                    steps, 2 * (m - 1), end, ")");
    }
    case Margin::Kind::none:
      break;
  }
  return norms + "c";
}

JavascriptFunction javascript_of(const std::string& formula) {
  using expression::Variable;
  const expression::Parsed typed = expression::parse(formula);
  JavascriptFunction out{.names = typed.parameters};
  expression::Graph graph;
  expression::PairSlopes slopes(graph, typed.graph, typed.score, {});
  std::vector<expression::Id> roots{slopes.score()};
  for (const Variable v : {Variable::z, Variable::q, Variable::ww, Variable::hh, Variable::c})
    roots.push_back(slopes.by(v));
  for (const char* by : {"lw", "lh", "F", "G", "s"})
    for (size_t k = 0; k < out.names.size(); ++k)
      if (out.names[k] == by) {
        roots.push_back(slopes.by_parameter(static_cast<int>(k)));
        out.slopes_by.emplace_back(by);
      }
  expression::Compiler compiler(graph);
  const expression::Program program = compiler.compile(roots);
  out.code = to_javascript(program, compiler.constants());
  return out;
}

}  // namespace nine::app
