// The formula of a head `expr:{...}` with everything that is made of it once: its derivatives, and
// the programs that compute them.
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

/// S as a function of z, q, ww, hh and c, and its slopes by them, these five as if they did not
/// depend on each other. Where q = 0 and where |c| = 1, these have their extreme values as
/// functions of the vectors, and no slope: there the slopes by q and by c are not used, and 0 times
/// infinity in the others, and in those by the parameters, is 0.
///
/// A formula lives as long as the program: a Score, plain data that is copied freely, points to it.
class Formula {
 public:
  /// Made once for each text and values. `fixed` are the values of the parameters, NaN for those
  /// that are known only when it is computed. UsageError: the text, or too long a program.
  static const Formula& of(std::string_view text, std::span<const double> fixed);

  Formula(std::string_view text, std::span<const double> fixed);
  Formula(const Formula&) = delete;
  Formula& operator=(const Formula&) = delete;

  const std::string& text() const { return text_; }  ///< without spaces
  std::span<const std::string> names() const { return names_; }
  /// The parameters as kernels describe theirs.
  std::span<const ParameterInfo> parameters() const { return infos_; }
  bool uses(Variable v) const { return uses_[static_cast<size_t>(v)]; }

  // Programs. Outputs:
  const Program& score() const { return score_; }    ///< S
  const Program& slopes() const { return slopes_; }  ///< dS/dz, dS/dww, dS/dhh through q and c too
  const Program& exact() const { return exact_; }    ///< S; its slopes by z, q, ww, hh, c
  /// dS/d(parameter) of those that are not fixed, in their order.
  const Program& parameter_slopes() const { return parameter_slopes_; }
  const Constants& constants() const { return constants_; }

  /// The formula and its slopes in a graph, with fixed parameters' values in place of their names.
  const Graph& graph() const { return graph_; }
  Id score_id() const { return roots_.front(); }
  std::span<const Id> roots() const { return roots_; }  ///< S and the five slopes
  /// dS/d(parameter) of those that are not fixed, in their order.
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
