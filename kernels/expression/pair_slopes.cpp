#include "kernels/expression/pair_slopes.h"

#include <limits>

#include "kernels/expression/derivative.h"

namespace nine::expression {

PairSlopes::PairSlopes(Graph& graph, const Graph& typed, Id score, std::span<const double> fixed)
    : g_(graph), score_(rebuild(typed, score, graph, fixed)) {
  graph.set_simplify(Graph::Simplify::keep_powers);
  powers_ = rebuild(typed, score, graph, fixed);
  graph.set_simplify(Graph::Simplify::yes);
  const auto has = variables_of(typed, score);
  uses_q_ = has[static_cast<size_t>(Variable::q)];
  uses_c_ = has[static_cast<size_t>(Variable::c)];
}

Id PairSlopes::by(Variable v) {
  return settled(g_.variable(v), uses_q_ && v != Variable::q, uses_c_ && v != Variable::c);
}

Id PairSlopes::by_parameter(int k) { return settled(g_.parameter(k), uses_q_, uses_c_); }

// Returns the slope with respect to `by`, of which q or c may be functions (through_q, through_c).
Id PairSlopes::settled(Id by, bool through_q, bool through_c) {
  const Id slope = plain(by), zero = g_.number(0);
  if (!through_q && !through_c) return slope;
  const Id number = g_.make(Op::less_equal, {size(slope), infinity(), slope, zero});
  Id out = slope;
  if (through_q) out = g_.make(Op::less, {zero, g_.variable(Variable::q), out, number});
  if (through_c)
    out = g_.make(Op::less, {size(g_.variable(Variable::c)), g_.number(1), out, number});
  return out;
}

// Returns the derivative. For softplus(k log(x)) at or near x = 0, uses that of log(1 + x^k).
Id PairSlopes::plain(Id by) {
  const Id slope = derivative(g_, score_, by), other = derivative(g_, powers_, by);
  return slope == other ? slope : g_.make(Op::less, {size(slope), infinity(), slope, other});
}

Id PairSlopes::infinity() { return g_.number(std::numeric_limits<double>::infinity()); }

}  // namespace nine::expression
