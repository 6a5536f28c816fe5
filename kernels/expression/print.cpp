// Writes expressions as text.
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "kernels/expression/expression.h"

namespace nine::expression {
namespace {

// How tightly an operator binds.
enum Level : int { kSum = 1, kProduct, kMinus, kPower, kAtom };

class Printer {
 public:
  Printer(const Graph& graph, Id root, std::span<const std::string> parameters,
          const std::map<Id, std::string>& named)
      : g_(graph), root_(root), parameters_(parameters), named_(named) {}

  std::string text(Id id) {
    if (++nodes_ > kMostNodes) return "...";
    if (const std::string* name = name_of_node(id)) return *name;
    const Node& n = g_[id];
    const auto& x = n.args;
    switch (n.op) {
      case Op::number:
        return number_text(n.value);
      case Op::variable:
        return name_of(static_cast<Variable>(n.index));
      case Op::parameter:
        return parameters_[n.index];
      case Op::add:
        return within(x[0], kSum) + " + " + within(x[1], kSum);
      case Op::subtract:
        return within(x[0], kSum) + " - " + within(x[1], kProduct);
      case Op::negate:
        return "-" + within(x[0], kProduct);
      case Op::multiply:
        return factor(x[0]) + "*" + factor(x[1]);
      case Op::divide:
        return within(x[0], kProduct) + "/" + within(x[1], kMinus);
      case Op::power:
        return within(x[0], kAtom) + "^" + within(x[1], kMinus);
      case Op::less:
      case Op::less_equal:
        return "where(" + text(x[0]) + (n.op == Op::less ? " < " : " <= ") + text(x[1]) + ", " +
               text(x[2]) + ", " + text(x[3]) + ")";
      default:
        break;
    }
    std::string out;
    for (const Function& f : functions())
      if (f.op == n.op) out = f.name;
    out += "(" + text(x[0]);
    if (arguments_of(n.op) == 2) out += ", " + text(x[1]);
    return out + ")";
  }

 private:
  static std::string number_text(double x) {
    if (x == std::numbers::pi) return "pi";
    if (x == std::numbers::e) return "e";
    for (const int n : {2, 4})
      if (std::abs(x) == n * std::numbers::pi) return concat(x < 0 ? "-" : "", n, "*pi");
    return concat(x);
  }

  const std::string* name_of_node(Id id) const {
    const auto found = id == root_ ? named_.end() : named_.find(id);
    return found == named_.end() ? nullptr : &found->second;
  }

  int level(Id id) const {
    if (name_of_node(id) != nullptr) return kAtom;
    switch (g_[id].op) {
      case Op::number:
        if (std::signbit(g_[id].value)) return kMinus;
        return number_text(g_[id].value).ends_with("*pi") ? kProduct : kAtom;
      case Op::add:
      case Op::subtract:
        return kSum;
      case Op::multiply:
      case Op::divide:
        return kProduct;
      case Op::negate:
        return level(g_[id].args[0]) == kProduct ? kProduct : kMinus;
      case Op::power:
        return kPower;
      default:
        return kAtom;
    }
  }
  // Returns a factor of a product: quotients get parentheses, after the sign if there is one.
  std::string factor(Id id) {
    if (name_of_node(id) != nullptr) return text(id);
    if (g_.is(id, Op::divide)) return "(" + text(id) + ")";
    if (g_.is(id, Op::negate)) return "-" + factor(g_[id].args[0]);
    return within(id, kProduct);
  }
  // Adds parentheses if the node binds less tightly than its place needs.
  std::string within(Id id, int least) {
    return level(id) < least ? "(" + text(id) + ")" : text(id);
  }

  // A shared node is printed at every use, so the text may be much longer than the graph.
  static constexpr int kMostNodes = 5000;

  const Graph& g_;
  Id root_;
  std::span<const std::string> parameters_;
  const std::map<Id, std::string>& named_;
  int nodes_ = 0;
};

}  // namespace

std::string to_text(const Graph& graph, Id id, std::span<const std::string> parameters,
                    const std::map<Id, std::string>& named) {
  return Printer(graph, id, parameters, named).text(id);
}

}  // namespace nine::expression
