// Expressions of a head's formula (docs/expressions.md): a graph of shared nodes. A subexpression
// that occurs twice is one node and is computed once.
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
  less,        ///< where(a < b, x, y); arguments a, b, x, y
  less_equal,  ///< where(a <= b, x, y)
  detach       ///< returns its argument, without a slope
};

/// The variables of a formula, for a word vector w and a context h: z = w.h, q = |w - h|^2, ww =
/// |w|^2, hh = |h|^2, c = z / (|w| |h|); and d, the number of elements of a vector.
enum class Variable : uint8_t { z, q, ww, hh, c, d };
inline constexpr int kVariables = 6;
const char* name_of(Variable v);

/// A function with its name in formulas.
struct Function {
  const char* name;
  Op op;
  int arguments;
};
/// Returns all functions of formulas except where(), which has its own syntax.
std::span<const Function> functions();
/// Returns the number of arguments of an operator or function.
int arguments_of(Op op);

/// The index of a node in its graph. A node's arguments have smaller indices.
using Id = uint32_t;

struct Node {
  Op op = Op::number;
  uint8_t index = 0;            ///< the index of a Variable or of a parameter
  std::array<Id, 4> args = {};  ///< arguments beyond arguments_of(op) are 0
  double value = 0;             ///< the value of a number
};

class Graph {
 public:
  enum class Simplify : uint8_t { no, yes, keep_powers };
  /// `yes` replaces an expression by a form that is shorter, more exact, or does not overflow: for
  /// instance log(1 + x) by log1p(x) (kernels/expression/simplify.cpp).
  explicit Graph(Simplify simplify = Simplify::yes) : simplify_(simplify) {}
  /// Sets the simplification of the nodes built from now on. With keep_powers log(1 + x^k) stays a
  /// function of x^k: its slope k x^(k-1) / (1 + x^k) is a number at x = 0, and the slope of
  /// softplus(k log(x)) is not.
  void set_simplify(Simplify simplify) { simplify_ = simplify; }
  Simplify simplify() const { return simplify_; }

  Id number(double value);
  Id variable(Variable v);
  Id parameter(int index);
  Id make(Op op, std::initializer_list<Id> args);
  Id make(Op op, std::span<const Id> args);

  const Node& operator[](Id id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }

  /// True if the node is that number.
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

/// Returns the nodes that `roots` need, arguments first.
std::vector<Id> needed(const Graph& graph, std::span<const Id> roots);

/// Returns, for each Variable, whether `root` contains it.
std::array<bool, kVariables> variables_of(const Graph& graph, Id root);

/// Rebuilds node `id` of `from` in `to`, with the node of_parameter(k) for parameter k.
Id rebuild_with(const Graph& from, Id id, Graph& to, const std::function<Id(int)>& of_parameter);
/// Does the same with the number values[k] for parameter k, unless it is NaN or missing.
Id rebuild(const Graph& from, Id id, Graph& to, std::span<const double> values);

/// Returns the formula as a person would write it; `parameters` are the parameters' names. Writes
/// the name of a node in `named`, except of `id` itself.
std::string to_text(const Graph& graph, Id id, std::span<const std::string> parameters,
                    const std::map<Id, std::string>& named = {});

}  // namespace nine::expression
