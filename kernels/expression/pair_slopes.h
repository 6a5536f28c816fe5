// Computes the slopes of a formula so that they are defined at every pair of vectors.
#pragma once

#include "kernels/expression/expression.h"

namespace nine::expression {

/// A formula's slopes with respect to z, q, ww, hh, c and its parameters. They treat the variables
/// as independent, and have values where the rules of calculus give 0 times infinity.
///
/// At q = 0 and |c| = 1, q and c as functions of the vectors are at an extreme value and not
/// differentiable. The slopes with respect to q and c must not be used there, and other slopes that
/// are not a number are 0. Examples: the slope of sqrt(q / (1 + ww)) with respect to ww has 0 times
/// infinity; the slope of q^p with respect to p is q^p log(q). Infinite slopes stay infinite.
class PairSlopes {
 public:
  /// Builds the slopes of `score` in `graph` from the parsed graph `typed`. fixed[k], if not NaN,
  /// replaces parameter k.
  PairSlopes(Graph& graph, const Graph& typed, Id score, std::span<const double> fixed);

  Id score() const { return score_; }
  Id by(Variable v);
  Id by_parameter(int k);

 private:
  Id settled(Id by, bool through_q, bool through_c);
  Id plain(Id by);
  Id size(Id x) { return g_.make(Op::abs, {x}); }
  Id infinity();

  Graph& g_;
  Id score_, powers_;  // powers_ keeps log(1 + x^k), see Graph::set_simplify
  bool uses_q_ = false, uses_c_ = false;
};

}  // namespace nine::expression
