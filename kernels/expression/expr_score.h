// expr: a score given as a formula (docs/expressions.md). Its derivatives are found when the head
// is read (kernels/expression/formula.h); the loops of the CPU over it are in
// kernels/cpu/expression_loops.cpp, and what is here computes single pairs.
#pragma once

#include "kernels/expression/program.h"
#include "kernels/scores/score.h"
#include "kernels/scores/vectors.h"

namespace nine::scores {

/// S of z, q, ww, hh, c and d. Not in the list of kernels (kernels/scores/all.h), whose parameters
/// are known without a head: visit() finds it by its kind.
struct Expr {
  static constexpr ScoreKind kKind = ScoreKind::expr;
  static constexpr const char* kName = "expr";
  static constexpr int kStats = 1;  ///< the squared norm
  static constexpr bool kExactTarget = true;

  Expr(const Score& s, int64_t d);
  int64_t parts() const { return 1; }
  int64_t product_dims(int64_t n) const { return n; }

  template <class T>
  void stats(const T* x, int64_t n, double* s) const {
    s[0] = square_norm(x, n);
  }
  template <class T>
  void stats_backward(const T* x, int64_t n, const double*, const double* ds, T* dx) const {
    for (int64_t k = 0; k < n; ++k) dx[k] += static_cast<T>(2 * ds[0] * static_cast<double>(x[k]));
  }
  template <class T>
  static bool is_extreme(const double* stats) {
    return overflows<T>(stats[0]);
  }

  // Of float and double.
  template <class T>
  T value(T z, const T* w, const T* h) const;
  template <class T>
  Slopes<T, kStats> slopes(T z, const T* w, const T* h) const;
  template <class T>
  double exact(const T* w, const T* h, int64_t d, double up, T* dw, T* dh) const;

  /// out = factor * dS/d(parameter) of the formula's parameters that are not fixed; returns the
  /// place after the last.
  template <class T>
  double* exact_parameter_slopes(const T* w, const T* h, int64_t d, double factor,
                                 double* out) const;

  /// Throws an Error that names the subexpression that is not finite, with its arguments' values,
  /// and calls the pair `pair`. `slope`: the score is finite, and a slope is not. Does nothing
  /// where the vectors themselves are not finite.
  template <class T>
  void refuse(const T* w, const T* h, int64_t d, const std::string& pair, bool slope) const;

  const expression::Formula* formula;
  double dims;
  std::array<double, kMaxScoreParameters> parameters;
  double constants[expression::Operand::kConstants] = {};
};

}  // namespace nine::scores
