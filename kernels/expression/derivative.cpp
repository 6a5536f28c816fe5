#include "kernels/expression/derivative.h"

#include <cmath>
#include <numbers>

#include "core/error.h"
#include "kernels/expression/operations.h"

namespace nine::expression {
namespace {

std::string rule_of_function(Op op) {
  switch (op) {
#define NINE_CASE(op, name, result, exact, javascript, rule) \
  case Op::op:                                               \
    return rule;
    NINE_UNARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
    default:
      fail("[expression] not a function of one argument: ", static_cast<int>(op));
  }
}

class Rules {
 public:
  Rules(Graph& graph, Id id, Id by, std::vector<Step>* steps)
      : g_(graph), by_(by), steps_(steps), slopes_(static_cast<size_t>(id) + 1) {}

  Id run(Id id) {
    for (const Id n : needed(g_, {&id, 1})) {
      const Node node = g_[n];  // a copy: the graph grows
      if (n == by_) {
        slopes_[n] = g_.number(1);
      } else if (arguments_of(node.op) == 0 || node.op == Op::detach || constant(node)) {
        slopes_[n] = g_.number(0);
      } else {
        slopes_[n] = slope(n, node);
        if (steps_ != nullptr && !(g_.is(slopes_[n], 0) && constant(node)))
          steps_->push_back({n, slopes_[n], rule_of(node)});
      }
    }
    return slopes_[id];
  }

 private:
  // True if no argument has a slope.
  bool constant(const Node& n) const {
    for (int k = 0; k < arguments_of(n.op); ++k)
      if (!g_.is(slopes_[n.args[static_cast<size_t>(k)]], 0)) return false;
    return true;
  }

  Id number(double x) { return g_.number(x); }
  Id add(Id a, Id b) { return g_.make(Op::add, {a, b}); }
  Id sub(Id a, Id b) { return g_.make(Op::subtract, {a, b}); }
  Id mul(Id a, Id b) { return g_.make(Op::multiply, {a, b}); }
  Id div(Id a, Id b) { return g_.make(Op::divide, {a, b}); }
  Id pow(Id a, Id b) { return g_.make(Op::power, {a, b}); }
  Id neg(Id a) { return g_.make(Op::negate, {a}); }
  Id call(Op op, Id a) { return g_.make(op, {a}); }

  // The slope of x^y. With respect to the base: y x^(y-1) x'. With respect to the exponent: x^y
  // log(x) y', which has the limit 0 at x = 0.
  Id power_slope(Id n, Id x, Id y, Id dx, Id dy) {
    Id slope = number(0);
    if (!g_.is(dx, 0)) slope = mul(mul(y, pow(x, sub(y, number(1)))), dx);
    if (g_.is(dy, 0)) return slope;
    Id grown = mul(n, call(Op::log, x));
    if (!(g_.is(x, Op::number) && g_[x].value > 0))
      grown = g_.make(Op::less, {number(0), x, grown, number(0)});
    return g_.is(dx, 0) ? mul(grown, dy) : add(slope, mul(grown, dy));
  }

  // Returns the slope of a function of one argument with respect to the argument; n is the
  // function's node.
  Id outer(Op op, Id n, Id x) {
    const Id one = number(1);
    switch (op) {
      case Op::log:
        return div(one, x);
      case Op::log1p:
        return div(one, add(one, x));
      case Op::expm1:
        return call(Op::exp, x);
      case Op::sqrt:
        return div(one, mul(number(2), n));
      case Op::abs:
        return call(Op::sign, x);
      case Op::sign:
        return number(0);
      case Op::tanh:
        return sub(one, pow(n, number(2)));
      case Op::sigmoid:
        return mul(n, call(Op::sigmoid, neg(x)));
      case Op::softplus:
        return call(Op::sigmoid, x);
      case Op::sin:
        return call(Op::cos, x);
      case Op::cos:
        return neg(call(Op::sin, x));
      case Op::acos:
        return div(number(-1), call(Op::sqrt, mul(sub(one, x), add(one, x))));
      case Op::acosh:
        return div(one, call(Op::sqrt, mul(sub(x, one), add(x, one))));
      case Op::atan:
        return div(one, add(one, pow(x, number(2))));
      case Op::erf:
        return mul(number(2 * std::numbers::inv_sqrtpi), call(Op::exp, neg(pow(x, number(2)))));
      default:
        fail("[expression] no derivative of ", static_cast<int>(op));
    }
  }

  Id slope(Id n, const Node& node) {
    const auto& x = node.args;
    const auto d = [&](size_t k) { return slopes_[x[k]]; };
    switch (node.op) {
      case Op::add:
        return add(d(0), d(1));
      case Op::subtract:
        return sub(d(0), d(1));
      case Op::negate:
        return neg(d(0));
      case Op::multiply:
        if (g_.is(d(0), 0)) return mul(x[0], d(1));
        if (g_.is(d(1), 0)) return mul(d(0), x[1]);
        return add(mul(d(0), x[1]), mul(x[0], d(1)));
      case Op::divide:
        if (g_.is(d(1), 0)) return div(d(0), x[1]);
        if (g_.is(d(0), 0)) return neg(div(mul(x[0], d(1)), pow(x[1], number(2))));
        return div(sub(mul(d(0), x[1]), mul(x[0], d(1))), pow(x[1], number(2)));
      case Op::power:
        return power_slope(n, x[0], x[1], d(0), d(1));
      case Op::min:
        return g_.make(Op::less, {x[1], x[0], d(1), d(0)});
      case Op::max:
        return g_.make(Op::less, {x[0], x[1], d(1), d(0)});
      case Op::less:
      case Op::less_equal:
        return g_.make(node.op, {x[0], x[1], d(2), d(3)});
      case Op::exp:
        return mul(d(0), n);
      default:
        return mul(outer(node.op, n, x[0]), d(0));
    }
  }

  std::string rule_of(const Node& n) const {
    switch (n.op) {
      case Op::add:
      case Op::subtract:
        return "sum rule";
      case Op::negate:
        return "constant factor";
      case Op::multiply:
        return g_.is(slopes_[n.args[0]], 0) || g_.is(slopes_[n.args[1]], 0) ? "constant factor"
                                                                            : "product rule";
      case Op::divide:
        return g_.is(slopes_[n.args[1]], 0) ? "constant factor" : "quotient rule";
      case Op::power:
        return g_.is(slopes_[n.args[1]], 0) ? "power rule" : "power rule, the exponent too";
      case Op::min:
      case Op::max:
        return "the argument taken; at a tie the first";
      case Op::less:
      case Op::less_equal:
        return "the side taken";
      default: {
        const std::string rule = rule_of_function(n.op);
        return g_.is(slopes_[n.args[0]], 1) ? rule : "chain rule: " + rule;
      }
    }
  }

  Graph& g_;
  Id by_;
  std::vector<Step>* steps_;
  std::vector<Id> slopes_;
};

}  // namespace

Id derivative(Graph& graph, Id id, Id by, std::vector<Step>* steps) {
  return Rules(graph, id, by, steps).run(id);
}

}  // namespace nine::expression
