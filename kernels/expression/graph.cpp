#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "core/error.h"
#include "kernels/expression/expression.h"
#include "kernels/expression/operations.h"
#include "kernels/expression/simplify.h"

namespace nine::expression {
namespace {

constexpr Function kOperations[] = {
#define NINE_ROW(op, name, result, exact, javascript, rule) {name, Op::op, 1},
    NINE_UNARY_OPERATIONS(NINE_ROW)
#undef NINE_ROW
#define NINE_ROW(op, name, result, javascript) {name, Op::op, 2},
        NINE_BINARY_OPERATIONS(NINE_ROW)
#undef NINE_ROW
#define NINE_ROW(op, condition, javascript) {"", Op::op, 4},
            NINE_CHOICES(NINE_ROW)
#undef NINE_ROW
                {"pow", Op::power, 2}};

}  // namespace

const char* name_of(Variable v) {
  constexpr const char* kNames[kVariables] = {"z", "q", "ww", "hh", "c", "d"};
  return kNames[static_cast<int>(v)];
}

std::span<const Function> functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> named;
    std::copy_if(std::begin(kOperations), std::end(kOperations), std::back_inserter(named),
                 [](const Function& f) { return *f.name != '\0'; });
    return named;
  }();
  return all;
}

int arguments_of(Op op) {
  for (const Function& f : kOperations)
    if (f.op == op) return f.arguments;
  return 0;  // of a number, a variable or a parameter
}

Id Graph::add(const Node& node) {
  const auto key_of = [](const Node& n) {
    return Key{n.op, n.index, n.args, std::bit_cast<uint64_t>(n.value)};
  };
  const auto found = known_.find(key_of(node));
  if (found != known_.end()) return found->second;
  // In a graph of typed formulas a*b and b*a stay different, because a formula is printed as it was
  // written.
  if (simplify_ != Simplify::no && (node.op == Op::add || node.op == Op::multiply)) {
    Node swapped = node;
    std::swap(swapped.args[0], swapped.args[1]);
    const auto other = known_.find(key_of(swapped));
    if (other != known_.end()) return other->second;
  }
  const Id id = static_cast<Id>(nodes_.size());
  nodes_.push_back(node);
  known_.emplace(key_of(node), id);
  return id;
}

Id Graph::number(double value) {
  // 0 and -0 are one number.
  return add({.op = Op::number, .value = value == 0 ? 0 : value});
}
Id Graph::variable(Variable v) {
  return add({.op = Op::variable, .index = static_cast<uint8_t>(v)});
}
Id Graph::parameter(int index) {
  return add({.op = Op::parameter, .index = static_cast<uint8_t>(index)});
}

Id Graph::make(Op op, std::initializer_list<Id> args) {
  return make(op, std::span<const Id>(args.begin(), args.size()));
}

Id Graph::make(Op op, std::span<const Id> args) {
  require(static_cast<int>(args.size()) == arguments_of(op), "[expression] ", args.size(),
          " arguments");
  if (simplify_ != Simplify::no) return Simplifier(*this).build(op, args);
  Node node{.op = op};
  std::copy(args.begin(), args.end(), node.args.begin());
  return add(node);
}

std::vector<Id> needed(const Graph& graph, std::span<const Id> roots) {
  std::vector<bool> marked(graph.size());
  for (const Id root : roots) marked[root] = true;
  for (Id id = static_cast<Id>(graph.size()); id-- > 0;)
    for (int k = 0; marked[id] && k < arguments_of(graph[id].op); ++k)
      marked[graph[id].args[static_cast<size_t>(k)]] = true;
  std::vector<Id> all;
  for (Id id = 0; id < graph.size(); ++id)
    if (marked[id]) all.push_back(id);
  return all;
}

std::array<bool, kVariables> variables_of(const Graph& graph, Id root) {
  std::array<bool, kVariables> has{};
  for (const Id id : needed(graph, {&root, 1}))
    if (graph[id].op == Op::variable) has[graph[id].index] = true;
  return has;
}

Id rebuild(const Graph& from, Id id, Graph& to, std::span<const double> values) {
  return rebuild_with(from, id, to, [&](int k) {
    const auto index = static_cast<size_t>(k);
    return index < values.size() && !std::isnan(values[index]) ? to.number(values[index])
                                                               : to.parameter(k);
  });
}

Id rebuild_with(const Graph& from, Id id, Graph& to, const std::function<Id(int)>& of_parameter) {
  std::vector<Id> made(from.size());
  for (const Id n : needed(from, {&id, 1})) {
    const Node& node = from[n];
    switch (node.op) {
      case Op::number:
        made[n] = to.number(node.value);
        break;
      case Op::variable:
        made[n] = to.variable(static_cast<Variable>(node.index));
        break;
      case Op::parameter:
        made[n] = of_parameter(node.index);
        break;
      default: {
        std::array<Id, 4> args{};
        const auto count = static_cast<size_t>(arguments_of(node.op));
        for (size_t k = 0; k < count; ++k) args[k] = made[node.args[k]];
        made[n] = to.make(node.op, std::span<const Id>(args.data(), count));
      }
    }
  }
  return made[id];
}

}  // namespace nine::expression
