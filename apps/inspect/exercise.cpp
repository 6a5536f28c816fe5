#include "apps/inspect/exercise.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "apps/inspect/explain.h"

namespace nine::app {
namespace {

constexpr uint64_t kDraws = 200;  // the one with the shortest numbers is taken

// How many numbers of the forward pass have more than two decimals.
int long_numbers(const WorkedExample& example) {
  int count = 0;
  for (const WorkedExample::Line& l : example.lines()) {
    if (l.formula.starts_with("\nBackward")) break;
    for (const double x : l.numbers)
      count += std::abs(100 * x - std::round(100 * x)) > 1e-9 ? 1 : 0;
  }
  return count;
}

// Vectors in one place or without a length make a problem of little use.
bool degenerate(const WorkedExample& example) {
  std::vector<Numbers> seen;
  for (const WorkedExample::Line& l : example.lines()) {
    if (l.formula.starts_with("\nForward")) break;
    if (l.numbers.size() < 2) continue;
    if (std::find(seen.begin(), seen.end(), l.numbers) != seen.end()) return true;
    if (std::all_of(l.numbers.begin(), l.numbers.end(), [](double x) { return x == 0; }))
      return true;
    seen.push_back(l.numbers);
  }
  return false;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t k = 0; k < names.size(); ++k)
    out += (k == 0 ? "" : k + 1 == names.size() ? " and " : ", ") + names[k];
  return out;
}

}  // namespace

std::string exercise_text(const std::string& name, uint64_t seed, bool solution) {
  for (const char* fixed : {"layer_norm", "lstm", "attention"})
    if (name == fixed)
      throw UsageError(concat("--exercise ", name, ": its numbers do not vary; --explain ", name,
                              " shows them"));
  explain(name);  // a wrong name is said here
  std::optional<WorkedExample> best;
  int least = 0;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    try {
      WorkedExample example = explain(name, ShortNumbers(seed * kDraws + draw));
      if (degenerate(example)) continue;
      const int count = long_numbers(example);
      if (!best || count < least) {
        best = std::move(example);
        least = count;
      }
    } catch (const Error&) {
      // Two vectors in one place, or a kink: no number to compute there.
    }
  }
  require(best.has_value(), "[kernel_inspect] --exercise ", name, " --seed ", seed,
          ": no draw has finite numbers; try another seed");
  if (solution) return best->text();
  std::string text = concat("Exercise ", name, ", seed ", seed, ". ");
  bool given = true;
  for (const WorkedExample::Line& l : best->lines()) {
    given = given && !l.formula.starts_with("\nForward");
    if (!given) continue;
    if (l.numbers.empty()) {
      const bool title = &l == &best->lines().front();
      text += (title ? l.formula.substr(0, l.formula.find('\n')) : l.formula) + '\n';
      continue;
    }
    text += "  " + l.symbol + " =";
    for (const double x : l.numbers) text += concat(' ', x);
    text += '\n';
  }
  text += concat("\nCompute ", listed(best->results()), ".\n");
  for (const char* loss : {"L", "L_uniform", "R_squared", "R_variance"})
    for (const WorkedExample::Line& l : best->lines())
      if (l.symbol == loss)
        text +=
            concat("To compare with: ", loss, " = ", std::round(1e5 * l.numbers[0]) / 1e5, ".\n");
  return text + concat("The steps: kernel_inspect --exercise ",
                       name.find_first_of("{*") == std::string::npos ? name : "'" + name + "'",
                       " --seed ", seed, " --solution\n");
}

}  // namespace nine::app
