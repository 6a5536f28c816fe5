// A kernel's expression (kernels/scores/score.h) and its slopes, as formulas that follow from one
// another. kernel_inspect prints, explains and compiles them for its pages.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/expression/parse.h"
#include "kernels/scores/score.h"

namespace nine::expression {

class KernelLines {
 public:
  /// `parameters` are the kernel's. UsageError: a line that is not a formula.
  KernelLines(KernelExpression expression, std::span<const ParameterInfo> parameters);

  /// Defines `symbol` by a formula of earlier symbols; `rule` is the rule that gives the formula.
  struct Line {
    std::string symbol, formula, rule;
  };
  /// Returns the lines of S as written. For a kernel of parts, returns the lines of xi, the score
  /// of one pair of parts; backward() then begins with dS/dxi. values[k], if present and not NaN,
  /// replaces parameter k.
  std::vector<Line> forward(std::span<const double> values = {}) const;
  /// Returns the slopes, from S backwards by the rules of calculus: dS/d(line), then those of
  /// dS/dz, dS/dq, dS/dww, dS/dhh, dS/dc, dS/dlw and dS/dlh that exist. They treat the variables as
  /// independent.
  std::vector<Line> backward(std::span<const double> values = {}) const;
  /// For a kernel of parts: joined() returns S as a function of xi, the scores of all pairs;
  /// joined_slope() returns dS/dxi, which is the same for every pair if it does not name xi.
  Line joined() const;
  Line joined_slope() const;
  /// Returns dS/d(parameter k) in terms of the earlier lines.
  Line by_parameter(size_t k, std::span<const double> values) const;

  /// True if a line names this variable or parameter.
  bool uses(const std::string& name) const;

  /// Returns S as one formula of variables and parameters.
  std::string one_formula() const;
  /// Returns S and its lines as one line of text.
  std::string score_text() const;
  /// Returns the slopes of backward() as one line of text.
  std::string derivative_text() const;
  const KernelExpression& expression() const { return expression_; }

 private:
  struct Slope {
    std::string by, rule;
    Id id = 0;
  };
  int index_of(const std::string& name);
  Id node_of(const std::string& name);
  Slope slope_by(const std::string& name);
  Line line_of(const Slope& slope, std::span<const double> values) const;

  KernelExpression expression_;
  size_t parameters_;
  std::vector<Parsed> typed_;  // one per line
  // Of the graph's parameters: the kernel's parameters, lines, slopes.
  std::vector<std::string> names_;
  Graph graph_;
  std::vector<Id> lines_;
  std::vector<Slope> slopes_, by_parameters_;
};

}  // namespace nine::expression
