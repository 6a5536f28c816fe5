#include "kernels/expression/evaluate.h"

#include <cmath>

#include "core/error.h"
#include "kernels/expression/operations.h"

namespace nine::expression {

double apply(Op op, const double* x) {
  const double a = x[0];
  switch (op) {
#define NINE_CASE(op, name, result, exact, javascript, rule) \
  case Op::op:                                               \
    return exact;
    NINE_UNARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
#define NINE_CASE(op, name, result, javascript) \
  case Op::op: {                                \
    const double b = x[1];                      \
    return result;                              \
  }
    NINE_BINARY_OPERATIONS(NINE_CASE)
#undef NINE_CASE
#define NINE_CASE(op, condition, javascript) \
  case Op::op: {                             \
    const double b = x[1];                   \
    return (condition) ? x[2] : x[3];        \
  }
    NINE_CHOICES(NINE_CASE)
#undef NINE_CASE
    case Op::power:
      return std::pow(a, x[1]);
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
