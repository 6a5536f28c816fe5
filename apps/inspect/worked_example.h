// A worked example as text: lines with a symbol, its formula, its numbers and the rule that gives
// the formula.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/inspect/arithmetic.h"
#include "autograd/tape.h"

namespace nine::app {

/// The words of most examples.
inline constexpr int64_t kExampleWords = 3;

/// Returns `text`, padded with spaces to `width` columns. A longer text is not changed.
std::string padded(std::string text, size_t width);

/// The sizes of an example of a head.
struct ExampleSizes {
  int64_t words = kExampleWords;
  int64_t size = 0;    ///< of a vector; 0: that of the head's usual example
  int64_t target = 0;  ///< the word with which the text goes on
};

/// The given numbers of an example.
class ShortNumbers {
 public:
  ShortNumbers() = default;  ///< a fixed list of numbers with few digits
  /// Uses these numbers, from the first to the last, then again from the first. The example is not
  /// checked by finite differences, because a search through many examples does not need the check.
  explicit ShortNumbers(std::vector<double> list, bool checked = true)
      : list_(std::move(list)), given_(true), checked_(checked) {}

  /// Uses the numbers of a context, of the words' vectors, of the prior and of C, in this order, as
  /// they are.
  ShortNumbers(std::vector<double> list, const ExampleSizes& sizes)
      : list_(std::move(list)), given_(true), own_(true), sizes_(sizes) {}

  bool given() const { return given_; }
  /// True if the numbers are a caller's own, which stay as they are.
  bool own() const { return own_; }
  const ExampleSizes& sizes() const { return sizes_; }
  bool checked() const { return checked_; }
  /// Returns how many numbers of the list were used so far.
  size_t asked() const { return *asked_; }
  /// Returns a tensor with the numbers of the list from its element `first` on.
  Tensor operator()(const Shape& shape, size_t first) const;

 private:
  std::vector<double> list_;
  bool given_ = false, checked_ = true, own_ = false;
  ExampleSizes sizes_;
  std::shared_ptr<size_t> asked_ = std::make_shared<size_t>(0);
};

/// The lines of a worked example, in the order in which they are added.
class WorkedExample {
 public:
  /// A line. A line without numbers is a heading or a sentence, which `formula` holds.
  struct Line {
    std::string symbol, formula;
    Numbers numbers;
    std::string rule = {};  ///< the reason for the formula; empty for a definition
    Formula tree = {};      ///< the formula from which the numbers are computed
  };

  explicit WorkedExample(const std::string& title) { lines_.push_back({{}, title, {}}); }
  /// If `numbers` are not checked, check() adds only its heading.
  WorkedExample(const ShortNumbers& numbers, const std::string& title) : WorkedExample(title) {
    checked_ = numbers.checked();
  }

  /// Adds a heading after an empty line.
  void heading(const std::string& text) { lines_.push_back({{}, '\n' + text, {}}); }
  /// Adds a given number. If the number has many digits and a short form (ln 2), the short form is
  /// its formula.
  void given(const std::string& symbol, const Numbers& numbers);
  void given(const std::string& symbol, const Tensor& numbers) {
    given(symbol, numbers.to_vector());
  }
  /// Adds a line `symbol = formula = numbers  (rule)`. The formula (apps/inspect/arithmetic.h) is
  /// computed with the numbers of the lines above.
  void step(const std::string& symbol, const std::string& formula, const std::string& rule = "");
  /// Compares the numbers of a line with the results of the library's ops. Error: they differ by
  /// more than 1e-9 of the largest number.
  void agree(const std::string& symbol, const Numbers& numbers);
  void agree(const std::string& symbol, const Tensor& numbers) {
    agree(symbol, numbers.to_vector());
  }
  /// Adds the last lines, which compare the gradients of f by the inputs with central differences.
  /// Error: they differ by more than 1e-6, relative to the largest.
  void check(const std::function<Var(std::span<const Var>)>& f, const std::vector<Tensor>& inputs);

  /// Returns the symbols that were compared, in order. They are the results of the example.
  const std::vector<std::string>& results() const { return results_; }
  const SymbolTable& symbols() const { return symbols_; }
  const std::vector<Line>& lines() const { return lines_; }
  /// Returns the numbers of the line with this symbol. Error: there is no such line.
  const Numbers& at(const std::string& symbol) const;
  /// Returns all lines, with symbols and formulas in columns. With `forms`, the numbers' short
  /// forms (short_form) follow the rule if all numbers of the line have short forms.
  std::string text(bool forms = false) const;

 private:
  bool checked_ = true;
  std::vector<Line> lines_;
  std::vector<std::string> results_;
  SymbolTable symbols_;
};

}  // namespace nine::app
