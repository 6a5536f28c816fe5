// A worked example as text: lines with a symbol, its formula and its numbers.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace nine::app {

/// `text`, filled up with spaces to `width` columns; a longer one stays as it is.
std::string padded(std::string text, size_t width);

/// The lines of a worked example, in the order in which they are added.
class WorkedExample {
 public:
  /// A line without numbers is a heading or a sentence, which is in `formula`.
  struct Line {
    std::string symbol, formula;
    std::vector<double> numbers;
  };

  explicit WorkedExample(const std::string& title) { lines_.push_back({{}, title, {}}); }

  /// A heading after an empty line.
  void heading(const std::string& text) { lines_.push_back({{}, '\n' + text, {}}); }
  /// A line `symbol = formula = numbers`; `formula` may be empty.
  void line(const std::string& symbol, const std::string& formula,
            const std::vector<double>& numbers) {
    lines_.push_back({symbol, formula, numbers});
  }
  void line(const std::string& symbol, const std::string& formula, double number) {
    line(symbol, formula, std::vector<double>{number});
  }
  void line(const std::string& symbol, const std::string& formula, const Tensor& numbers) {
    line(symbol, formula, numbers.to_vector());
  }
  /// Adds the last lines: the gradients of f by the inputs compared with central differences.
  /// Error: they differ by more than 1e-6 relative.
  void check(const std::function<Var(std::span<const Var>)>& f, const std::vector<Tensor>& inputs);

  const std::vector<Line>& lines() const { return lines_; }
  /// The numbers of the line with that symbol; an Error when there is none.
  const std::vector<double>& at(const std::string& symbol) const;
  /// All lines, the symbols and formulas in columns.
  std::string text() const;

 private:
  std::vector<Line> lines_;
};

/// Numbers of few digits, for examples that can be computed by hand: from a fixed list, beginning
/// with its element `first`.
Tensor short_numbers(const Shape& shape, size_t first);

}  // namespace nine::app
