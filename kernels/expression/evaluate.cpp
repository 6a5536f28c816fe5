#include "kernels/expression/evaluate.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace nine::expression {

double apply(Op op, const double* x) {
  switch (op) {
    case Op::add:
      return x[0] + x[1];
    case Op::subtract:
      return x[0] - x[1];
    case Op::multiply:
      return x[0] * x[1];
    case Op::divide:
      return x[0] / x[1];
    case Op::power:
      return std::pow(x[0], x[1]);
    case Op::negate:
      return -x[0];
    case Op::exp:
      return std::exp(x[0]);
    case Op::log:
      return std::log(x[0]);
    case Op::log1p:
      return std::log1p(x[0]);
    case Op::expm1:
      return std::expm1(x[0]);
    case Op::sqrt:
      return std::sqrt(x[0]);
    case Op::abs:
      return std::abs(x[0]);
    case Op::sign:
      return x[0] > 0 ? 1 : x[0] < 0 ? -1 : x[0];
    case Op::tanh:
      return std::tanh(x[0]);
    case Op::sigmoid:
      return 1 / (1 + std::exp(-x[0]));
    case Op::softplus:
      return std::max(x[0], 0.0) + std::log1p(std::exp(-std::abs(x[0])));
    case Op::sin:
      return std::sin(x[0]);
    case Op::cos:
      return std::cos(x[0]);
    case Op::acos:
      return std::acos(x[0]);
    case Op::acosh:
      return std::acosh(x[0]);
    case Op::atan:
      return std::atan(x[0]);
    case Op::erf:
      return std::erf(x[0]);
    case Op::min:
      return x[1] < x[0] ? x[1] : x[0];
    case Op::max:
      return x[1] > x[0] ? x[1] : x[0];
    case Op::less:
      return x[0] < x[1] ? x[2] : x[3];
    case Op::less_equal:
      return x[0] <= x[1] ? x[2] : x[3];
    case Op::detach:
      return x[0];
    default:
      fail("[expression] not a function: ", static_cast<int>(op));
  }
}

std::vector<double> evaluate_all(const Graph& graph, Id last, const Variables& variables,
                                 std::span<const double> parameters) {
  std::vector<double> values(last + 1);
  for (Id id = 0; id <= last; ++id) {
    const Node& n = graph[id];
    if (n.op == Op::number) {
      values[id] = n.value;
    } else if (n.op == Op::variable) {
      values[id] = variables[n.index];
    } else if (n.op == Op::parameter) {
      values[id] = parameters[n.index];
    } else {
      double args[4];
      for (size_t k = 0; k < 4; ++k) args[k] = values[n.args[k]];
      values[id] = apply(n.op, args);
    }
  }
  return values;
}

double evaluate(const Graph& graph, Id id, const Variables& variables,
                std::span<const double> parameters) {
  return evaluate_all(graph, id, variables, parameters)[id];
}

}  // namespace nine::expression
