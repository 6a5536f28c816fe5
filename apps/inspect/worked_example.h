// A worked example as people read it: lines of a symbol, how it comes about, and its numbers.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace nine::app {

class WorkedExample {
 public:
  struct Line {
    std::string symbol,
        formula;  ///< a line without numbers is a heading or a sentence, in `formula`
    std::vector<double> numbers;
  };

  explicit WorkedExample(const std::string& title) { say(title); }

  void say(const std::string& text) { lines_.push_back({{}, text, {}}); }
  void heading(const std::string& text) { lines_.push_back({{}, '\n' + text, {}}); }
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
  /// The last lines: f's gradients by the inputs against central differences. Error: they differ by
  /// more than 1e-6 relative.
  void check(const std::function<Var(std::span<const Var>)>& f, const std::vector<Tensor>& inputs);

  const std::vector<Line>& lines() const { return lines_; }
  /// The numbers of the line with that symbol; an Error when there is none.
  const std::vector<double>& at(const std::string& symbol) const;
  std::string text() const;

 private:
  std::vector<Line> lines_;
};

/// Short numbers for examples, so that a pencil suffices: `count` from the fixed list, beginning at
/// `first`.
Tensor short_numbers(const Shape& shape, size_t first);

}  // namespace nine::app
