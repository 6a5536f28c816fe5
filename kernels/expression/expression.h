// Expressions of a head's formula (docs/expressions.md): a graph whose nodes are shared, so that a
// subexpression that occurs twice is one node and is computed once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace nine::expression {

enum class Op : uint8_t {
  number,
  variable,
  parameter,
  add,
  subtract,
  multiply,
  divide,
  power,
  negate,
  exp,
  log,
  log1p,
  expm1,
  sqrt,
  abs,
  sign,  ///< -1, 0 or 1: the slope of abs
  tanh,
  sigmoid,
  softplus,
  sin,
  cos,
  acos,
  acosh,
  atan,
  erf,
  min,
  max,
  less,        ///< where(a < b, x, y): its arguments are a, b, x, y
  less_equal,  ///< where(a <= b, x, y)
  detach       ///< its argument, without a slope
};

/// What a formula may depend on, of a word vector w and a context h: z = w.h, q = |w - h|^2, ww =
/// |w|^2, hh = |h|^2, c = z / (|w| |h|); and d, how many numbers a vector has.
enum class Variable : uint8_t { z, q, ww, hh, c, d };
inline constexpr int kVariables = 6;
const char* name_of(Variable v);

/// A function by its name in formulas; operators have none.
struct Function {
  const char* name;
  Op op;
  int arguments;
};
/// All functions of formulas but where(), which has a syntax of its own.
std::span<const Function> functions();
/// How many arguments an operator or function has.
int arguments_of(Op op);

/// A node, by its place in its graph. Arguments come before the node that has them.
using Id = uint32_t;

struct Node {
  Op op = Op::number;
  uint8_t index = 0;            ///< of a Variable, or of a parameter
  std::array<Id, 4> args = {};  ///< those beyond arguments_of(op) are 0
  double value = 0;             ///< of a number
};

class Graph {
 public:
  enum class Simplify : uint8_t { no, yes, keep_powers };
  /// One that simplifies replaces what is built by a form that is shorter, or more exact, or does
  /// not overflow: log(1 + x) by log1p(x), for instance. kernels/expression/simplify.cpp.
  explicit Graph(Simplify simplify = Simplify::yes) : simplify_(simplify) {}
  /// What is built from now on. With keep_powers log(1 + x^k) stays a function of x^k: its slope
  /// k x^(k-1) / (1 + x^k) is a number where x is 0, that of softplus(k log(x)) is none.
  void set_simplify(Simplify simplify) { simplify_ = simplify; }
  Simplify simplify() const { return simplify_; }

  Id number(double value);
  Id variable(Variable v);
  Id parameter(int index);
  Id make(Op op, std::initializer_list<Id> args);
  Id make(Op op, std::span<const Id> args);

  const Node& operator[](Id id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }

  /// Whether the node is that number.
  bool is(Id id, double value) const {
    return nodes_[id].op == Op::number && nodes_[id].value == value;
  }
  bool is(Id id, Op op) const { return nodes_[id].op == op; }

 private:
  friend class Simplifier;
  Id add(const Node& node);

  using Key = std::tuple<Op, uint8_t, std::array<Id, 4>, uint64_t>;
  Simplify simplify_;
  std::vector<Node> nodes_;
  std::map<Key, Id> known_;
};

/// The nodes that `roots` need, arguments first.
std::vector<Id> needed(const Graph& graph, std::span<const Id> roots);

/// By Variable, whether `root` has it.
std::array<bool, kVariables> variables_of(const Graph& graph, Id root);

/// Node `id` of `from`, built anew in `to`, where parameter k is the node of_parameter(k).
Id rebuild_with(const Graph& from, Id id, Graph& to, const std::function<Id(int)>& of_parameter);
/// The same with the number values[k] for parameter k, unless that is NaN or missing.
Id rebuild(const Graph& from, Id id, Graph& to, std::span<const double> values);

/// The formula as a person would write it; `parameters` are the parameters' names. A node of
/// `named` stands as its name, unless it is `id` itself.
std::string to_text(const Graph& graph, Id id, std::span<const std::string> parameters,
                    const std::map<Id, std::string>& named = {});

}  // namespace nine::expression
