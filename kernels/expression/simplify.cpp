#include "kernels/expression/simplify.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/expression/evaluate.h"

namespace nine::expression {
namespace {

bool whole(double x) { return x == std::floor(x) && std::abs(x) < 1e9; }

}  // namespace

Id Simplifier::build(Op op, std::span<const Id> args) {
  Found found = folded(op, args);
  if (!found) switch (op) {
      case Op::add:
        found = add(args[0], args[1]);
        break;
      case Op::subtract:
        found = subtract(args[0], args[1]);
        break;
      case Op::negate:
        found = negate(args[0]);
        break;
      case Op::multiply:
        found = multiply(args[0], args[1]);
        break;
      case Op::divide:
        found = divide(args[0], args[1]);
        break;
      case Op::power:
        found = power(args[0], args[1]);
        break;
      case Op::log:
      case Op::log1p:
        found = logarithm(op, args[0]);
        break;
      case Op::min:
      case Op::max:
      case Op::less:
      case Op::less_equal:
        found = choice(op, args);
        break;
      default:
        found = function(op, args[0]);
    }
  if (found) return *found;
  Node node{.op = op};
  std::copy(args.begin(), args.end(), node.args.begin());
  return graph_.add(node);
}

// Replaces a function of numbers by its value, if the value is finite.
Simplifier::Found Simplifier::folded(Op op, std::span<const Id> args) {
  double values[4] = {};
  for (size_t k = 0; k < args.size(); ++k) {
    if (!is_number(args[k])) return {};
    values[k] = value(args[k]);
  }
  const double result = apply(op, values);
  if (!std::isfinite(result)) return {};
  return number(result);
}

bool Simplifier::never_negative(Id id) const {
  const Node& n = graph_[id];
  switch (n.op) {
    case Op::number:
      return n.value >= 0;
    case Op::variable:
      return n.index != static_cast<int>(Variable::z) && n.index != static_cast<int>(Variable::c);
    case Op::exp:
    case Op::sqrt:
    case Op::abs:
    case Op::sigmoid:
    case Op::softplus:
    case Op::acos:
    case Op::acosh:
      return true;
    case Op::power:
      return (is_number(n.args[1]) && std::fmod(value(n.args[1]), 2) == 0) ||
             never_negative(n.args[0]);
    case Op::add:
    case Op::multiply:
    case Op::divide:
      return never_negative(n.args[0]) && never_negative(n.args[1]);
    default:
      return false;
  }
}

// True if the node is q or a fixed multiple of q. The node is then 0 where q is 0, and slopes with
// respect to q count as 0 there.
bool Simplifier::is_distance(Id id) const {
  const auto is_variable = [this](Id x, Variable v) {
    return is(x, Op::variable) && graph_[x].index == static_cast<int>(v);
  };
  const auto is_fixed = [&](Id x) { return is_number(x) || is_variable(x, Variable::d); };
  if (is(id, Op::multiply)) return is_fixed(arg(id, 0)) && is_distance(arg(id, 1));
  if (is(id, Op::divide)) return is_fixed(arg(id, 1)) && is_distance(arg(id, 0));
  return is_variable(id, Variable::q);
}

Simplifier::Found Simplifier::without_minus(Id id) {
  if (is(id, Op::negate)) return arg(id, 0);
  if (is_number(id) && value(id) < 0) return number(-value(id));
  if (is(id, Op::multiply) && is_number(arg(id, 0)) && value(arg(id, 0)) < 0)
    return make(Op::multiply, {number(-value(arg(id, 0))), arg(id, 1)});
  if (is(id, Op::divide) && is_number(arg(id, 0)) && value(arg(id, 0)) < 0)
    return make(Op::divide, {number(-value(arg(id, 0))), arg(id, 1)});
  return {};
}

Simplifier::Term Simplifier::term_of(Id id) {
  if (is(id, Op::negate)) {
    const Term inner = term_of(arg(id, 0));
    return {-inner.coefficient, inner.base};
  }
  if (is(id, Op::multiply) && is_number(arg(id, 0))) return {value(arg(id, 0)), arg(id, 1)};
  return {1, id};
}

Simplifier::Power Simplifier::power_of(Id id) {
  if (is(id, Op::power)) return {arg(id, 0), arg(id, 1)};
  if (is(id, Op::sqrt)) return {arg(id, 0), number(0.5)};
  return {id, number(1)};
}

Simplifier::Found Simplifier::one_plus(Id id) {
  if (!is(id, Op::add)) return {};
  if (is(arg(id, 0), 1)) return arg(id, 1);
  if (is(arg(id, 1), 1)) return arg(id, 0);
  return {};
}

// Simplifies a + sign b if both are multiples of one node.
Simplifier::Found Simplifier::like_terms(Id a, Id b, double sign) {
  if (is_number(a) || is_number(b)) return {};
  const Term x = term_of(a), y = term_of(b);
  if (x.base != y.base) return {};
  return make(Op::multiply, {number(x.coefficient + sign * y.coefficient), x.base});
}

Simplifier::Found Simplifier::add(Id a, Id b) {
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  if (const Found same = like_terms(a, b, 1)) return same;
  if (const Found x = without_minus(b)) return make(Op::subtract, {a, *x});
  if (const Found x = without_minus(a)) return make(Op::subtract, {b, *x});
  for (const auto& [sum, other] : {std::pair(a, b), {b, a}})
    if (is_number(other) && is(sum, Op::add))
      for (const size_t k : {0, 1})
        if (is_number(arg(sum, k)))
          return make(Op::add, {arg(sum, 1 - k), number(value(arg(sum, k)) + value(other))});
  for (const auto& [difference, other] : {std::pair(a, b), {b, a}})
    if (is_number(other) && is(difference, Op::subtract)) {
      if (is_number(arg(difference, 1)))
        return make(Op::add,
                    {arg(difference, 0), number(value(other) - value(arg(difference, 1)))});
      if (is_number(arg(difference, 0)))
        return make(Op::subtract,
                    {number(value(other) + value(arg(difference, 0))), arg(difference, 1)});
    }
  return {};
}

Simplifier::Found Simplifier::subtract(Id a, Id b) {
  if (is(b, 0)) return a;
  if (is(a, 0)) return make(Op::negate, {b});
  if (a == b) return number(0);
  if (const Found same = like_terms(a, b, -1)) return same;
  if (const Found x = without_minus(b)) return make(Op::add, {a, *x});
  if (is(b, 1) && is(a, Op::exp)) return make(Op::expm1, {arg(a, 0)});
  if (is(a, 1) && is(b, Op::sigmoid)) return make(Op::sigmoid, {make(Op::negate, {arg(b, 0)})});
  if (is_number(b) && is(a, Op::add))
    for (const size_t k : {0, 1})
      if (is_number(arg(a, k)))
        return make(Op::add, {arg(a, 1 - k), number(value(arg(a, k)) - value(b))});
  if (is_number(b) && is(a, Op::subtract) && is_number(arg(a, 1)))
    return make(Op::subtract, {arg(a, 0), number(value(arg(a, 1)) + value(b))});
  return {};
}

Simplifier::Found Simplifier::negate(Id a) {
  if (const Found x = without_minus(a)) return x;
  if (is(a, Op::subtract)) return make(Op::subtract, {arg(a, 1), arg(a, 0)});
  if (is(a, Op::multiply) && is_number(arg(a, 0)))
    return make(Op::multiply, {number(-value(arg(a, 0))), arg(a, 1)});
  return {};
}

// Simplifies factor * x if x has a number that the factor can be merged with.
Simplifier::Found Simplifier::scaled(double factor, Id x) {
  if (is(x, Op::multiply) && is_number(arg(x, 0)))
    return make(Op::multiply, {number(factor * value(arg(x, 0))), arg(x, 1)});
  if (!is(x, Op::divide)) return {};
  if (is_number(arg(x, 0))) return make(Op::divide, {number(factor * value(arg(x, 0))), arg(x, 1)});
  if (!is_number(arg(x, 1))) return {};
  const double divisor = value(arg(x, 1));
  if (whole(divisor / factor)) return make(Op::divide, {arg(x, 0), number(divisor / factor)});
  return make(Op::multiply, {number(factor / divisor), arg(x, 0)});
}

// Simplifies a * b or a / b to a power of their common base; `sign` is add or subtract.
Simplifier::Found Simplifier::joined_powers(Id a, Id b, Op sign) {
  if (is_number(a) || is_number(b)) return {};
  if (is(a, Op::exp) && is(b, Op::exp)) return make(Op::exp, {make(sign, {arg(a, 0), arg(b, 0)})});
  const Power x = power_of(a), y = power_of(b);
  if (x.base != y.base) return {};
  return make(Op::power, {x.base, make(sign, {x.exponent, y.exponent})});
}

Simplifier::Found Simplifier::multiply_powers(Id a, Id b) {
  if (const Found joined = joined_powers(a, b, Op::add)) return joined;
  for (const auto& [product, other] : {std::pair(a, b), {b, a}})
    if (is(product, Op::multiply))
      for (const size_t k : {0, 1})
        if (const Found joined = joined_powers(arg(product, k), other, Op::add))
          return make(Op::multiply, {arg(product, 1 - k), *joined});
  return {};
}

Simplifier::Found Simplifier::multiply(Id a, Id b) {
  if (is(a, 0) || is(b, 0)) return number(0);
  if (is(a, 1)) return b;
  if (is(b, 1)) return a;
  if (is_number(b)) return make(Op::multiply, {b, a});
  if (is(a, -1)) return make(Op::negate, {b});
  if (is(a, Op::negate)) return make(Op::negate, {make(Op::multiply, {arg(a, 0), b})});
  if (is(b, Op::negate)) return make(Op::negate, {make(Op::multiply, {a, arg(b, 0)})});
  if (is_number(a)) return scaled(value(a), b);
  for (const auto& [product, other] : {std::pair(a, b), {b, a}})
    if (is(product, Op::multiply) && is_number(arg(product, 0)))
      return make(Op::multiply,
                  {arg(product, 0), product == a ? make(Op::multiply, {arg(a, 1), other})
                                                 : make(Op::multiply, {other, arg(b, 1)})});
  // A quotient by a number is a coefficient, as in (p/2)*q^(p/2 - 1).
  if (is(a, Op::divide) && !is_number(arg(a, 1)))
    return make(Op::divide, {make(Op::multiply, {arg(a, 0), b}), arg(a, 1)});
  if (is(b, Op::divide) && !is_number(arg(b, 1)))
    return make(Op::divide, {make(Op::multiply, {a, arg(b, 0)}), arg(b, 1)});
  return multiply_powers(a, b);
}

Simplifier::Found Simplifier::divide_powers(Id a, Id b) {
  if (const Found joined = joined_powers(a, b, Op::subtract)) return joined;
  if (is(a, Op::multiply))
    for (const size_t k : {0, 1})
      if (const Found joined = joined_powers(arg(a, k), b, Op::subtract))
        return make(Op::multiply, {arg(a, 1 - k), *joined});
  return {};
}

Simplifier::Found Simplifier::divide(Id a, Id b) {
  if (is(a, 0) && !is(b, 0)) return number(0);
  if (is(b, 1)) return a;
  if (is(b, -1)) return make(Op::negate, {a});
  if (a == b && !is(b, 0)) return number(1);
  if (is(a, Op::negate)) return make(Op::negate, {make(Op::divide, {arg(a, 0), b})});
  if (is(b, Op::negate)) return make(Op::negate, {make(Op::divide, {a, arg(b, 0)})});
  if (is_number(b) && value(b) != 0) {
    const double divisor = value(b);
    if (is(a, Op::divide) && is_number(arg(a, 1)))
      return make(Op::divide, {arg(a, 0), number(divisor * value(arg(a, 1)))});
    if (is(a, Op::multiply) && is_number(arg(a, 0))) {
      const double factor = value(arg(a, 0));
      if (whole(divisor / factor)) return make(Op::divide, {arg(a, 1), number(divisor / factor)});
      return make(Op::multiply, {number(factor / divisor), arg(a, 1)});
    }
    return {};
  }
  if (is(a, Op::divide)) return make(Op::divide, {arg(a, 0), make(Op::multiply, {arg(a, 1), b})});
  if (is(b, Op::divide)) return make(Op::divide, {make(Op::multiply, {a, arg(b, 1)}), arg(b, 0)});
  const Found x = one_plus(b);
  if (x && is(*x, Op::exp)) {
    const Id t = arg(*x, 0);
    if (is(a, 1)) return make(Op::sigmoid, {make(Op::negate, {t})});
    if (a == *x) return make(Op::sigmoid, {t});
  }
  if (is(b, Op::exp))
    return make(Op::multiply, {a, make(Op::exp, {make(Op::negate, {arg(b, 0)})})});
  return divide_powers(a, b);
}

Simplifier::Found Simplifier::power(Id a, Id b) {
  if (is(b, 1)) return a;
  if (is(b, 0) || is(a, 1)) return number(1);
  if (is(b, 0.5)) return make(Op::sqrt, {a});
  if (is(b, -1)) return make(Op::divide, {number(1), a});
  if (is(a, std::numbers::e)) return make(Op::exp, {b});
  if (is(a, Op::exp)) return make(Op::exp, {make(Op::multiply, {b, arg(a, 0)})});
  if (!is_number(b)) return {};
  const double k = value(b);
  if (is(a, Op::sqrt) && k == 2) return arg(a, 0);
  if (whole(k) && std::fmod(k, 2) == 0) {
    if (is(a, Op::abs)) return make(Op::power, {arg(a, 0), b});
    if (const Found x = without_minus(a)) return make(Op::power, {*x, b});
  }
  if (is(a, Op::power) && is_number(arg(a, 1)) &&
      ((whole(k) && whole(value(arg(a, 1)))) || never_negative(arg(a, 0))))
    return make(Op::power, {arg(a, 0), number(k * value(arg(a, 1)))});
  return {};
}

Simplifier::Found Simplifier::logarithm(Op op, Id a) {
  if (op == Op::log) {
    if (is(a, Op::exp)) return arg(a, 0);
    if (is(a, Op::sigmoid))
      return make(Op::negate, {make(Op::softplus, {make(Op::negate, {arg(a, 0)})})});
    if (const Found x = one_plus(a)) return make(Op::log1p, {*x});
    if (is(a, Op::subtract) && is(arg(a, 0), 1))
      return make(Op::log1p, {make(Op::negate, {arg(a, 1)})});
    if (is(a, Op::power) && never_negative(arg(a, 0)))
      return make(Op::multiply, {arg(a, 1), make(Op::log, {arg(a, 0)})});
    return {};
  }
  if (is(a, Op::exp)) return make(Op::softplus, {arg(a, 0)});
  if (is(a, Op::expm1)) return arg(a, 0);
  if (is(a, Op::negate) && is(arg(a, 0), Op::sigmoid))
    return make(Op::negate, {make(Op::softplus, {arg(arg(a, 0), 0)})});
  // x^k may overflow where log(1 + x^k) = softplus(k log x) does not.
  if (is(a, Op::power) && never_negative(arg(a, 0)) &&
      (graph_.simplify() != Graph::Simplify::keep_powers || is_distance(arg(a, 0))))
    return make(Op::softplus, {make(Op::multiply, {arg(a, 1), make(Op::log, {arg(a, 0)})})});
  return {};
}

Simplifier::Found Simplifier::function(Op op, Id a) {
  const Found positive = without_minus(a);
  switch (op) {
    case Op::tanh:
    case Op::sin:
    case Op::atan:
    case Op::erf:
    case Op::sign:
      if (positive) return make(Op::negate, {make(op, {*positive})});
      return {};
    case Op::cos:
      if (positive) return make(op, {*positive});
      return {};
    case Op::abs:
      if (positive) return make(op, {*positive});
      if (never_negative(a)) return a;
      return {};
    case Op::sqrt:
      if (is(a, Op::power) && is(arg(a, 1), 2)) return make(Op::abs, {arg(a, 0)});
      return {};
    case Op::expm1:
      if (is(a, Op::log1p)) return arg(a, 0);
      return {};
    case Op::detach:
      if (is(a, Op::detach)) return a;
      return {};
    default:
      return {};
  }
}

Simplifier::Found Simplifier::choice(Op op, std::span<const Id> args) {
  if (op == Op::min || op == Op::max) {
    if (args[0] == args[1]) return args[0];
    return {};
  }
  if (args[2] == args[3]) return args[2];
  if (args[0] == args[1]) return args[op == Op::less ? 3 : 2];
  if (!is_number(args[0]) || !is_number(args[1])) return {};
  const double a = value(args[0]), b = value(args[1]);
  return args[(op == Op::less ? a < b : a <= b) ? 2 : 3];
}

}  // namespace nine::expression
