// expr: a score given as a formula (docs/expressions.md), on the CPU. Its derivatives are found
// when the head is read (kernels/expression/formula.h); the loops over it are in
// kernels/expression/cpu/expression_loops.cpp.
#pragma once

#include "kernels/expression/expr_pair.h"
#include "kernels/expression/program.h"
#include "kernels/scores/score.h"

namespace nine::scores {

/// Not in the list of kernels (kernels/scores/all.h), whose parameters are known without a head:
/// visit() finds it by its kind.
struct Expr : ExprPair {
  Expr(const Score& s, int64_t d);
  Expr(const Expr&) = delete;  // `constants` are its own
  Expr& operator=(const Expr&) = delete;

  /// Whether the slopes that exact() uses are finite.
  template <class T>
  bool finite_slopes(const T* w, const T* h, int64_t d) const;

  /// Throws an Error that names the subexpression that is not finite, with its arguments' values,
  /// and calls the pair `pair`. `slope`: the score is finite, and a slope is not, by the vectors or
  /// by a learned number. Does nothing where the vectors themselves are not finite.
  template <class T>
  void refuse(const T* w, const T* h, int64_t d, const std::string& pair, bool slope) const;

  const expression::Formula* formula;
  double dims;
  std::array<double, kMaxScoreParameters> parameters;

 private:
  double values_[expression::Operand::kConstants] = {};
};

}  // namespace nine::scores
