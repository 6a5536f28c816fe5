#include "apps/inspect/kernel_formulas.h"

#include <cmath>
#include <numbers>

#include "core/error.h"
#include "kernels/expression/derivative.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/javascript.h"
#include "kernels/expression/parse.h"
#include "kernels/head.h"
#include "kernels/scores/all.h"

namespace nine::app {
namespace {

Slider positive(const char* name, double value) {
  return {name, value, 0.1, std::max(4.0, 2 * value), 0.05};
}

const char* const kGaussians =
    "-log(2*pi*(exp(lw)+exp(lh)+0.000002))-q/(2*(exp(lw)+exp(lh)+0.000002))";
const char* const kGaussiansOfOneVariance = "-log(4*pi*variance)-q/(4*variance)";

PageKernel gaussians(double variance) {
  if (variance == 0) return {.formula = kGaussians, .size = 3, .extra = "log-variance"};
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
          .size = 3,
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
      return gaussians(p[0]);
    case ScoreKind::mog: {
      PageKernel page = gaussians(p[2]);
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
    throw UsageError(concat("a page multiplies each pair of parts, which ", to_text(score),
                            " does not: leave out its scale"));
  page.formula = concat("factor*(", page.formula, ")");
  page.sliders.push_back(positive("factor", score.scale));
  return page;
}

std::string margin_formula(const Margin& margin) {
  const std::string length = "sqrt(ww)*sqrt(hh)*";
  switch (margin.kind) {
    case Margin::Kind::cos:
      return length + "(c-m)";
    case Margin::Kind::arc:  // beyond pi - m: c - m sin m
      return length + "where(c<-cos(m),c-m*sin(m),cos(m)*c-sin(m)*sqrt(1-c^2))";
    case Margin::Kind::lsm: {
      // Chebyshev's T_m by its recurrence; pieces from the largest cosine down.
      const int m = static_cast<int>(margin.size);
      std::string before = "1", now = "c";
      for (int i = 1; i < m; ++i) {
        const std::string next = concat("(2*c*", now, "-", before, ")");
        before = now, now = next;
      }
      std::string pieces;
      for (int k = 0; k + 1 < m; ++k)
        pieces += concat("where(", std::cos(std::numbers::pi * (k + 1) / m), "<=c,",
                         k % 2 == 0 ? "" : "-", now, "-", 2 * k, ",");
      pieces += concat((m - 1) % 2 == 0 ? "" : "-", now, "-", 2 * (m - 1),
                       std::string(static_cast<size_t>(m - 1), ')'));
      return length + "(" + pieces + ")";
    }
    case Margin::Kind::none:
      break;
  }
  return "z";
}

std::string javascript_of(const std::string& formula, std::vector<std::string>& names) {
  using expression::Variable;
  const expression::Parsed typed = expression::parse(formula);
  names = typed.parameters;
  expression::Graph graph;
  const expression::Id root = expression::rebuild(typed.graph, typed.score, graph, {});
  std::vector<expression::Id> roots{root};
  for (const Variable v : {Variable::z, Variable::q, Variable::ww, Variable::hh, Variable::c})
    roots.push_back(derivative(graph, root, graph.variable(v)));
  for (const char* extra : {"lw", "lh"})
    for (size_t k = 0; k < names.size(); ++k)
      if (names[k] == extra)
        roots.push_back(derivative(graph, root, graph.parameter(static_cast<int>(k))));
  expression::Compiler compiler(graph);
  const expression::Program program = compiler.compile(roots);
  return to_javascript(program, compiler.constants());
}

}  // namespace nine::app
