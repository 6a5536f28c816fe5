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

/// `text`, filled up with spaces to `width` columns; a longer one stays as it is.
std::string padded(std::string text, size_t width);

/// The numbers that an example is given.
class ShortNumbers {
 public:
  ShortNumbers() = default;  ///< a fixed list of few digits
  /// These, from the first to the last and over again; the example is not checked by differences,
  /// which a search among many does not need.
  explicit ShortNumbers(std::vector<double> list, bool checked = true)
      : list_(std::move(list)), given_(true), checked_(checked) {}

  bool given() const { return given_; }
  bool checked() const { return checked_; }
  /// How many numbers of the list were asked for so far.
  size_t asked() const { return *asked_; }
  /// Of the list from its element `first` on.
  Tensor operator()(const Shape& shape, size_t first) const;

 private:
  std::vector<double> list_;
  bool given_ = false, checked_ = true;
  std::shared_ptr<size_t> asked_ = std::make_shared<size_t>(0);
};

/// The lines of a worked example, in the order in which they are added.
class WorkedExample {
 public:
  /// A line without numbers is a heading or a sentence, which is in `formula`.
  struct Line {
    std::string symbol, formula;
    Numbers numbers;
    std::string rule = {};  ///< why the formula holds; empty where it is a definition
    Formula tree = {};      ///< the formula, where numbers come from it
  };

  explicit WorkedExample(const std::string& title) { lines_.push_back({{}, title, {}}); }
  /// With numbers that are not checked check() adds its heading only.
  WorkedExample(const ShortNumbers& numbers, const std::string& title) : WorkedExample(title) {
    checked_ = numbers.checked();
  }

  /// A heading after an empty line.
  void heading(const std::string& text) { lines_.push_back({{}, '\n' + text, {}}); }
  /// A number that the example begins with; where it has many digits and a short form (ln 2), with
  /// that for a formula.
  void given(const std::string& symbol, const Numbers& numbers);
  void given(const std::string& symbol, const Tensor& numbers) {
    given(symbol, numbers.to_vector());
  }
  /// A line `symbol = formula = numbers  (rule)`: the formula (apps/inspect/arithmetic.h) is
  /// computed with the numbers of the lines above.
  void step(const std::string& symbol, const std::string& formula, const std::string& rule = "");
  /// Compares the numbers of a line with those that the library's ops have computed. Error: they
  /// differ by more than 1e-9 of the largest.
  void agree(const std::string& symbol, const Numbers& numbers);
  void agree(const std::string& symbol, const Tensor& numbers) {
    agree(symbol, numbers.to_vector());
  }
  /// Adds the last lines: the gradients of f by the inputs compared with central differences.
  /// Error: they differ by more than 1e-6 relative.
  void check(const std::function<Var(std::span<const Var>)>& f, const std::vector<Tensor>& inputs);

  /// The symbols that were compared, in order: what an example is about.
  const std::vector<std::string>& results() const { return results_; }
  const SymbolTable& symbols() const { return symbols_; }
  const std::vector<Line>& lines() const { return lines_; }
  /// The numbers of the line with that symbol; an Error when there is none.
  const Numbers& at(const std::string& symbol) const;
  /// All lines, the symbols and formulas in columns.
  /// `forms`: after the rule the numbers as short forms (short_form), where they all have one.
  std::string text(bool forms = false) const;

 private:
  bool checked_ = true;
  std::vector<Line> lines_;
  std::vector<std::string> results_;
  SymbolTable symbols_;
};

}  // namespace nine::app
