// The slopes of a formula of a pair of vectors, at every pair.
#pragma once

#include "kernels/expression/expression.h"

namespace nine::expression {

/// A formula's slopes by z, q, ww, hh, c and by its parameters, these as if they did not depend on
/// each other, with values where the rules of calculus give 0 times infinity.
///
/// Where q = 0, and where |c| = 1, these have their extreme values as functions of the vectors, and
/// no slope: there the slopes by q and by c are not to be used, and what is no number in the others
/// is 0: sqrt(q / (1 + ww)) has 0 times infinity by ww, and q^p has q^p log(q) by p. A slope that
/// is infinite stays so.
class PairSlopes {
 public:
  /// Of `score`, built in `graph` from what was typed; fixed[k], where it is not NaN, stands for
  /// parameter k.
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
  Id score_, powers_;  // powers_: with logarithms of 1 + x^k as they are, see Graph::set_simplify
  bool uses_q_ = false, uses_c_ = false;
};

}  // namespace nine::expression
