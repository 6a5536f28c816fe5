// expr: a score given as a formula (docs/expressions.md), on the CPU. Reading the head computes its
// derivatives (kernels/expression/formula.h). kernels/expression/cpu/expression_loops.cpp has the
// loops.
#pragma once

#include "kernels/expression/expr_pair.h"
#include "kernels/expression/program.h"
#include "kernels/scores/score.h"

namespace nine::scores {

/// The struct of the kernel expr. kernels/scores/all.h does not list it, because the parameters of
/// listed kernels are known without a head; visit() selects it by its kind.
struct Expr : ExprPair {
  Expr(const Score& s, int64_t d);
  Expr(const Expr&) = delete;  // a copy would point to the original's constants
  Expr& operator=(const Expr&) = delete;

  /// True if the slopes that exact() uses are finite.
  template <class T>
  bool finite_slopes(const T* w, const T* h, int64_t d) const;

  /// Throws an Error that names the subexpression that is not finite, with its arguments' values,
  /// and calls the pair `pair`. `slope`: the score is finite, but a slope with respect to the
  /// vectors or a learned number is not. Does nothing if the vectors themselves are not finite.
  template <class T>
  void refuse(const T* w, const T* h, int64_t d, const std::string& pair, bool slope) const;

  const expression::Formula* formula;
  double dims;
  std::array<double, kMaxScoreParameters> parameters;

 private:
  double values_[expression::Operand::kConstants] = {};
};

}  // namespace nine::scores
