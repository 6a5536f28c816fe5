// Reads the formulas of a worked example, computes them with the numbers of the lines above, and
// writes them as MathML. So the formula that is printed beside a number is the formula that
// computes it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nine::app {

/// A number or a vector. Operators work element by element; a single number is combined with every
/// element.
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

/// The symbols that have a value so far, by name. A name may have any characters, as dL/dw_1 has.
/// In a formula, the longest name counts that ends at the end of its word.
class SymbolTable {
 public:
  void set(const std::string& symbol, Numbers value) { values_[symbol] = std::move(value); }
  const std::map<std::string, Numbers>& values() const { return values_; }

  /// Reads a formula of symbols, numbers, pi, + - * / ^ . |x| [a, b] x[2] x[1..2], the functions of
  /// heads' formulas (docs/expressions.md) and ln, arcosh, arccos, sum. Error, which names the
  /// place: other text.
  Formula read(std::string_view text) const;
  Numbers compute(const Formula& formula) const;
  Numbers compute(std::string_view text) const { return compute(read(text)); }

 private:
  std::map<std::string, Numbers> values_;
};

/// Returns MathML without <math>: products by juxtaposition, quotients as fractions, also dL/dw_1.
std::string to_mathml(const Formula& formula);
/// Returns the same, cut at places where a line may break: before the signs of a sum, which may be
/// the last factor, and after the commas of a list. Browsers do not break lines inside <math>.
std::vector<std::string> mathml_parts(const Formula& formula);
/// Returns an operator between two operands, also at the beginning of a line.
std::string infix_mathml(const char* op);
/// Returns a symbol by itself.
std::string symbol_mathml(const std::string& symbol);

}  // namespace nine::app
