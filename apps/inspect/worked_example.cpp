#include "apps/inspect/worked_example.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "apps/inspect/short_form.h"
#include "autograd/gradcheck.h"

namespace nine::app {
namespace {

constexpr double kZeroBelow = 1e-15;  // what rounding leaves of 0

std::string number_text(double x) {
  std::array<char, 32> text{};
  const double size = std::abs(x);
  std::snprintf(text.data(), text.size(),
                size > kZeroBelow && (size < 1e-3 || size >= 1e6) ? "%11.3e" : "%11.5f",
                size > kZeroBelow ? x : 0.0);
  return text.data();
}

}  // namespace

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

void WorkedExample::given(const std::string& symbol, const Numbers& numbers) {
  std::string forms;
  bool decimal = true, short_forms = true;
  for (const double x : numbers) {
    const std::string form = short_form(x);
    decimal = decimal && is_decimal(x);
    short_forms = short_forms && !form.empty();
    forms += (forms.empty() ? "" : ", ") + form;
  }
  if (!decimal && short_forms) return step(symbol, numbers.size() == 1 ? forms : "[" + forms + "]");
  lines_.push_back({symbol, {}, numbers});
  symbols_.set(symbol, numbers);
}

void WorkedExample::step(const std::string& symbol, const std::string& formula,
                         const std::string& rule) {
  Formula tree = symbols_.read(formula);
  const Numbers numbers = symbols_.compute(tree);
  for (const double x : numbers)
    require(std::isfinite(x), "[kernel_inspect] ", symbol, " = ", formula, " is not finite");
  lines_.push_back({symbol, formula, numbers, rule, std::move(tree)});
  symbols_.set(symbol, numbers);
}

void WorkedExample::agree(const std::string& symbol, const Numbers& numbers) {
  results_.push_back(symbol);
  const Numbers& mine = at(symbol);
  require(mine.size() == numbers.size(), "[kernel_inspect] ", symbol, " has ", mine.size(),
          " numbers in the derivation and ", numbers.size(), " in the library");
  double largest = 0, off = 0;
  for (size_t k = 0; k < mine.size(); ++k) {
    largest = std::max(largest, std::abs(numbers[k]));
    off = std::max(off, std::abs(mine[k] - numbers[k]));
  }
  require(off <= 1e-9 * std::max(largest, 1e-3), "[kernel_inspect] the derivation's ", symbol,
          " differs from the library's by ", off);
}

void WorkedExample::check(const std::function<Var(std::span<const Var>)>& f,
                          const std::vector<Tensor>& inputs) {
  if (!checked_) return heading("Check");
  const GradcheckReport report = gradcheck(f, inputs, {.max_elements = 0});
  require(report.worst < 1e-6,
          "[kernel_inspect] a gradient differs from finite differences: ", report.where);
  heading(concat("Check: each number of each input moved by 1e-5 up and down, and L computed again",
                 report.vanished.size() == inputs.size()
                     ? "; all gradients are below 1e-7, so this checks nothing: 0 agrees with 0"
                     : ""));
  lines_.push_back({"worst",
                    concat("|gradient - (L(x + e) - L(x - e)) / 2e| over the largest, of ",
                           report.checked, " numbers"),
                    {report.worst}});
}

const Numbers& WorkedExample::at(const std::string& symbol) const {
  const auto found =
      std::find_if(lines_.begin(), lines_.end(), [&](const Line& l) { return l.symbol == symbol; });
  require(found != lines_.end(), "[kernel_inspect] the example has no line ", symbol);
  return found->numbers;
}

namespace {

// ", that is ln(2), 1/3", of numbers that are not written out by their decimals.
std::string forms_of(const Numbers& numbers) {
  std::string out;
  bool plain = true;
  for (const double x : numbers) {
    const std::string form = short_form(x);
    if (form.empty()) return {};
    plain = plain && is_decimal(x);
    out += (out.empty() ? "" : ", ") + form;
  }
  return plain ? std::string() : out;
}

}  // namespace

std::string WorkedExample::text(bool with_forms) const {
  size_t symbol = 0, formula = 0;
  for (const Line& l : lines_)
    if (!l.numbers.empty())
      symbol = std::max(symbol, l.symbol.size()),
      formula = std::max(formula, std::min<size_t>(l.formula.size(), 58));
  std::string out;
  for (const Line& l : lines_) {
    if (l.numbers.empty()) {
      out += l.formula + '\n';
      continue;
    }
    out += "  " + padded(l.symbol, symbol) +
           (l.formula.empty() ? std::string() : " = " + padded(l.formula, formula)) + " =";
    for (const double x : l.numbers) out += number_text(x);
    const bool exact = with_forms && !l.formula.empty() && l.symbol != "worst";  // a measurement
    const std::string forms = exact ? forms_of(l.numbers) : "";
    const std::string rule = l.rule + (forms.empty() ? "" : (l.rule.empty() ? "" : "; ") + forms);
    if (!rule.empty()) out += "   (" + rule + ")";
    out += '\n';
  }
  return out;
}

Tensor ShortNumbers::operator()(const Shape& shape, size_t first) const {
  static constexpr std::array kNumbers = {0.5,   -1.0, 1.0, 0.25, -0.5, 0.75, 2.0,
                                          -0.25, 0.4,  1.5, -0.6, 0.8,  -1.25};
  Tensor t(shape, DType::float64);
  *asked_ = std::max(*asked_, first + static_cast<size_t>(t.elements()));
  for (int64_t i = 0; i < t.elements(); ++i) {
    const size_t at = first + static_cast<size_t>(i);
    t.data<double>()[i] = given_ ? list_[at % list_.size()] : kNumbers[at % kNumbers.size()];
  }
  return t;
}

}  // namespace nine::app
