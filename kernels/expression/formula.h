// The formula of a head `expr:{...}` with its derivatives and the programs that compute them, each
// made once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/expression/derivative.h"
#include "kernels/expression/evaluate.h"
#include "kernels/expression/program.h"
#include "kernels/scores/score.h"

namespace nine::expression {

/// S as a function of z, q, ww, hh and c, and its partial derivatives, which treat these five
/// variables as independent. At q = 0 and |c| = 1, q and c as functions of the vectors are at an
/// extreme value and not differentiable. The slopes with respect to q and c are then ignored, and 0
/// times infinity counts as 0 in the other slopes, also in those with respect to parameters.
///
/// A formula lives as long as the program, because a Score, plain data that is copied freely,
/// points to it.
class Formula {
 public:
  /// Returns the formula of this text and these values, made at the first call. `fixed` are the
  /// parameters' values, NaN for parameters that are known only at evaluation. UsageError: an
  /// invalid text, or a program that is too long.
  static const Formula& of(std::string_view text, std::span<const double> fixed);

  Formula(std::string_view text, std::span<const double> fixed);
  Formula(const Formula&) = delete;
  Formula& operator=(const Formula&) = delete;

  const std::string& text() const { return text_; }  ///< without spaces
  std::span<const std::string> names() const { return names_; }
  /// Returns the parameters in the form of kernels' parameters.
  std::span<const ParameterInfo> parameters() const { return infos_; }
  bool uses(Variable v) const { return uses_[static_cast<size_t>(v)]; }

  // Programs. Their outputs:
  const Program& score() const { return score_; }  ///< S
  /// dS/dz, dS/dww, dS/dhh, including the parts through q and c.
  const Program& slopes() const { return slopes_; }
  /// S and its slopes with respect to z, q, ww, hh, c.
  const Program& exact() const { return exact_; }
  /// dS/d(parameter) for the parameters that are not fixed, in their order.
  const Program& parameter_slopes() const { return parameter_slopes_; }
  const Constants& constants() const { return constants_; }

  /// Returns the graph of the formula and its slopes, with fixed parameters' values in place of
  /// their names.
  const Graph& graph() const { return graph_; }
  Id score_id() const { return roots_.front(); }
  std::span<const Id> roots() const { return roots_; }  ///< S and the five slopes
  /// dS/d(parameter) for the parameters that are not fixed, in their order.
  std::span<const Id> parameter_roots() const { return by_parameters_; }

 private:
  void compile(const Graph& typed, Id score, std::span<const double> fixed);

  std::string text_;
  std::vector<std::string> names_;
  std::vector<ParameterInfo> infos_;
  std::array<bool, kVariables> uses_{};
  Graph graph_;
  std::vector<Id> roots_, by_parameters_;
  Program score_, slopes_, exact_, parameter_slopes_;
  Constants constants_;
};

}  // namespace nine::expression
