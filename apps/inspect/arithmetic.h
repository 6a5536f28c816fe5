// The formulas of a worked example: read, computed with the numbers of the lines above, and written
// as MathML. What is printed beside a number is thereby what gives it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nine::app {

/// A number or a vector. Operators go element by element; one number meets every element.
using Numbers = std::vector<double>;

/// A formula as a tree.
struct Formula {
  enum class Kind : uint8_t {
    number,
    symbol,
    operation,  ///< text: + - * / ^ . (the dot product), and neg, the minus sign of one argument
    call,       ///< text: the function's name
    norm,       ///< |x|, the square root of the sum of squares
    list,       ///< [a, b, ...], joined
    part,       ///< x[i] or x[i..j], counted from 1
    compare     ///< text: < or <=, the first argument of where()
  };
  Kind kind = Kind::number;
  std::string text;
  double value = 0;
  int from = 0, to = 0;
  std::vector<Formula> args;
};

/// The symbols that have a value so far, by name. A name may hold anything, as dL/dw_1 does: in a
/// formula the longest one counts that ends where its word ends.
class SymbolTable {
 public:
  void set(const std::string& symbol, Numbers value) { values_[symbol] = std::move(value); }
  const std::map<std::string, Numbers>& values() const { return values_; }

  /// Reads a formula of symbols, numbers, pi, + - * / ^ . |x| [a, b] x[2] x[1..2], the functions of
  /// heads' formulas (docs/expressions.md) and ln, arcosh, arccos, sum. Error: something else, with
  /// the place.
  Formula read(std::string_view text) const;
  Numbers compute(const Formula& formula) const;
  Numbers compute(std::string_view text) const { return compute(read(text)); }

 private:
  std::map<std::string, Numbers> values_;
};

/// As MathML, without <math>: products by juxtaposition, quotients as fractions, dL/dw_1 as one.
std::string to_mathml(const Formula& formula);
/// The same cut where a line may break: before the signs of a sum, alone or as the last factor, and
/// behind the commas of a list. Browsers break no line within a <math>.
std::vector<std::string> mathml_parts(const Formula& formula);
/// An operator between two things, also where it begins a line.
std::string infix_mathml(const char* op);
/// A symbol by itself.
std::string symbol_mathml(const std::string& symbol);

}  // namespace nine::app
