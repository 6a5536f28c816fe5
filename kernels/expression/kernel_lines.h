// A kernel's expression (kernels/scores/score.h) with its slopes, as formulas that follow from one
// another: what kernel_inspect prints, explains and compiles for its pages.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/expression/parse.h"
#include "kernels/scores/score.h"

namespace nine::expression {

class KernelLines {
 public:
  /// `parameters` are the kernel's. UsageError: a line that is no formula.
  KernelLines(KernelExpression expression, std::span<const ParameterInfo> parameters);

  /// What `symbol` is, from the symbols of the lines above, and the rule that gives the formula.
  struct Line {
    std::string symbol, formula, rule;
  };
  /// The lines of S as they were written; of a kernel of parts those of xi, the score of one pair
  /// of parts, whose slope dS/dxi the slopes below begin with. Where values[k] is there and not NaN
  /// it stands for parameter k.
  std::vector<Line> forward(std::span<const double> values = {}) const;
  /// The slopes, from S back by the rules of calculus: dS/d(line), then dS/dz, dS/dq, dS/dww,
  /// dS/dhh, dS/dc, dS/dlw and dS/dlh, those that there are, as if they did not depend on each
  /// other.
  std::vector<Line> backward(std::span<const double> values = {}) const;
  /// Of a kernel of parts: S from xi, the scores of all pairs; and dS/dxi, which is the same number
  /// of every pair where it does not name xi.
  Line joined() const;
  Line joined_slope() const;
  /// dS/d(parameter k), by the lines above.
  Line by_parameter(size_t k, std::span<const double> values) const;

  /// Whether a line names a variable, or a parameter.
  bool uses(const std::string& name) const;

  /// S as one formula of variables and parameters.
  std::string one_formula() const;
  /// S and the lines that it is made of, in a line of text.
  std::string score_text() const;
  /// The slopes of backward(), in a line of text.
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
  std::vector<Parsed> typed_;       // of each line
  std::vector<std::string> names_;  // of the graph's parameters: the kernel's, lines, slopes
  Graph graph_;
  std::vector<Id> lines_;
  std::vector<Slope> slopes_, by_parameters_;
};

}  // namespace nine::expression
