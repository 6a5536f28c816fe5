// Simplifies an operator or function with its arguments, for Graph::make.
#pragma once

#include <optional>
#include <span>

#include "kernels/expression/expression.h"

namespace nine::expression {

/// Builds a node in a graph that simplifies. Where the typed formula has a value, the rules keep it
/// to rounding. Where it has no value (0 * log(0), x / x at 0), the rules may give it one.
class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph) {}
  Id build(Op op, std::span<const Id> args);

 private:
  using Found = std::optional<Id>;
  /// x = coefficient * base, or base^exponent.
  struct Term {
    double coefficient;
    Id base;
  };
  struct Power {
    Id base, exponent;
  };

  Id make(Op op, std::initializer_list<Id> args) { return graph_.make(op, args); }
  Id number(double x) { return graph_.number(x); }
  bool is(Id id, Op op) const { return graph_.is(id, op); }
  bool is(Id id, double value) const { return graph_.is(id, value); }
  bool is_number(Id id) const { return is(id, Op::number); }
  double value(Id id) const { return graph_[id].value; }
  Id arg(Id id, size_t k) const { return graph_[id].args[k]; }

  bool never_negative(Id id) const;
  bool is_distance(Id id) const;
  Found without_minus(Id id);  // returns x if id is -x
  Term term_of(Id id);
  Power power_of(Id id);
  Found one_plus(Id id);  // returns x if id is 1 + x
  Found folded(Op op, std::span<const Id> args);
  Found like_terms(Id a, Id b, double sign);
  Found joined_powers(Id a, Id b, Op sign);
  Found scaled(double factor, Id x);

  Found add(Id a, Id b);
  Found subtract(Id a, Id b);
  Found negate(Id a);
  Found multiply(Id a, Id b);
  Found multiply_powers(Id a, Id b);
  Found divide(Id a, Id b);
  Found divide_powers(Id a, Id b);
  Found power(Id a, Id b);
  Found logarithm(Op op, Id a);
  Found function(Op op, Id a);
  Found choice(Op op, std::span<const Id> args);

  Graph& graph_;
};

}  // namespace nine::expression
