#include "apps/inspect/kernel_formulas.h"

#include <cmath>
#include <numbers>

#include "core/error.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/javascript.h"
#include "kernels/expression/pair_slopes.h"
#include "kernels/expression/parse.h"
#include "kernels/head.h"
#include "kernels/scores/all.h"

namespace nine::app {
namespace {

Slider positive(const char* name, double value) {
  return {name, value, 0.1, std::max(4.0, 2 * value), 0.05};
}

const char* const kGaussiansOfOneVariance = "-d/2*log(4*pi*variance)-q/(4*variance)";

PageKernel gaussians(double variance, double pace) {
  if (variance == 0) {
    const std::string times = pace == 1 ? "" : concat(pace, "*"),
                      sigma = concat("(exp(", times, "lw)+exp(", times, "lh)+0.000002)");
    return {.formula = concat("-d/2*log(2*pi*", sigma, ")-q/(2*", sigma, ")"),
            .extra = pace == 1 ? "log-variance" : "number of the log-variance"};
  }
  return {.formula = kGaussiansOfOneVariance, .sliders = {positive("variance", variance)}};
}

PageKernel hyperbolic(const Score& score) {
  using Ball = scores::Hpb::Ball;
  switch (static_cast<Ball>(static_cast<int>(score.parameters[0]))) {
    case Ball::lorentz:
      return {.formula = "-acosh(max(sqrt(1+ww)*sqrt(1+hh)-z,1))"};
    case Ball::tanh:  // cosh and sinh of 2r, by exponentials
      return {.formula =
                  "-acosh(max((exp(2*sqrt(ww))+exp(-2*sqrt(ww)))*(exp(2*sqrt(hh))+exp(-2*sqrt(hh)))"
                  "/4-(exp(2*sqrt(ww))-exp(-2*sqrt(ww)))*(exp(2*sqrt(hh))-exp(-2*sqrt(hh)))/4*c,"
                  "1))"};
    case Ball::clip:  // cosh and sinh of 2 artanh r are rational functions
      return {.formula =
                  "-acosh(max(((1+min(ww,0.99999^2))*(1+min(hh,0.99999^2))"
                  "-4*min(sqrt(ww),0.99999)*min(sqrt(hh),0.99999)*c)"
                  "/((1-min(ww,0.99999^2))*(1-min(hh,0.99999^2))),1))",
              .ball = 1};
    case Ball::sigmoid:
      break;
  }
  // e^rho = 1 + 2 e^(l + shift)
  const std::string w = "(1+2*exp(lw+shift))", h = "(1+2*exp(lh+shift))";
  return {.formula = concat("-acosh(max((", w, "+1/", w, ")*(", h, "+1/", h, ")/4-(", w, "-1/", w,
                            ")*(", h, "-1/", h, ")/4*c,1))"),
          .sliders = {{"shift", score.parameters[1], -4, 2, 0.1}},
          .extra = "number of the radius"};
}

PageKernel of_formula(const Score& score) {
  PageKernel page{.formula = score.formula->text()};
  const auto names = score.formula->names();
  for (size_t k = 0; k < names.size(); ++k) {
    const double v = score.parameters[k], reach = std::max(2.0, 2 * std::abs(v));
    page.sliders.push_back({names[k], v, v > 0 ? reach / 100 : -reach, reach, reach / 100});
  }
  return page;
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

// Of the kernel without its scale.
PageKernel plain_kernel(const Score& score) {
  const auto& p = score.parameters;
  switch (score.kind) {
    case ScoreKind::log:
      return {.formula = "-log(1+q^(p/2))", .sliders = {positive("p", p[0])}};
    case ScoreKind::pow:
      return {.formula = "-q^(p/2)", .sliders = {positive("p", p[0])}};
    case ScoreKind::pol:
      return {.formula = "(alpha*z+offset)^p",
              .sliders = {{"alpha", p[0], -2, 2, 0.05},
                          {"offset", p[1], -2, 2, 0.05},
                          {"p", p[2], 1, std::max(6.0, p[2]), 1}}};
    case ScoreKind::rbf:
      return {.formula = "exp(-gamma*q)", .sliders = {positive("gamma", p[0])}};
    case ScoreKind::wav:
      return {.formula = "cos(q/a)*exp(-q/b)",
              .sliders = {{"a", p[0], p[0] < 0 ? -4.0 : 0.1, p[0] < 0 ? -0.1 : 4.0, 0.05},
                          positive("b", p[1])}};
    case ScoreKind::sig:
      return {.formula = "z+log(sigmoid(z))"};
    case ScoreKind::ssg:
      return gaussians(p[0], p[1]);
    case ScoreKind::mog: {
      PageKernel page = gaussians(p[2], p[3]);
      page.parts = static_cast<int>(p[0]);
      page.combine = p[1] == 1 ? PageKernel::Combine::mixture : PageKernel::Combine::sum;
      return page;
    }
    case ScoreKind::hpb:
      return hyperbolic(score);
    case ScoreKind::expr:
      return of_formula(score);
    default:
      return {.formula = "z"};
  }
}

}  // namespace

PageKernel page_kernel(const Score& score) {
  PageKernel page = plain_kernel(score);
  if (score.scale == 1 && !score.learns(kScaleNumber)) return page;
  if (page.combine == PageKernel::Combine::mixture)
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
