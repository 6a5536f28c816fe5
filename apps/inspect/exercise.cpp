#include "apps/inspect/exercise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "apps/inspect/exercise_draws.h"
#include "apps/inspect/explain.h"
#include "apps/inspect/short_form.h"
#include "core/error.h"

namespace nine::app {
namespace {

// The numbers of an example are found by changing one of them after another.
constexpr int kStarts = 10, kChanges = 70;
constexpr size_t kMostNumbers = 96;

// Numbers to draw from: what one kernel makes of them is short for one set and not for another.
// Roots of pi are for waves, 3-4-5 and 5-12-13 for lengths, logarithms for exponentials.
const std::vector<std::vector<double>>& pools() {
  static const double a = std::log(2), b = std::log(3), pi = std::sqrt(std::numbers::pi),
                      half = std::sqrt(std::numbers::pi / 2), root = std::sqrt(3);
  static const std::vector<std::vector<double>> all{
      {-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2},
      {-a, a, -b, b, 2 * a, a / 2, -1, 1, 2, 0},
      {-0.8, -0.6, 0.6, 0.8, 1, -1, 3, 4, 0.75, 0, 2},
      {-pi, pi, half, -half, 2 * half, 0},
      {1, -1, root, -root, 2, 0},
      {0.6 * a, 0.8 * a, -0.8 * a, -0.6 * a, a, -a, 2 * a, 0}};
  return all;
}

bool mentions(const Formula& f, const std::set<std::string>& symbols) {
  return (f.kind == Formula::Kind::symbol && symbols.contains(f.text)) ||
         std::any_of(f.args.begin(), f.args.end(),
                     [&](const Formula& arg) { return mentions(arg, symbols); });
}

struct Unfinished {
  int before = 0, behind = 0;  // of what no softmax goes into, and of what one does
};
Unfinished unfinished(const WorkedExample& example) {
  std::set<std::string> soft;
  Unfinished count;
  double tolerance = 1e-11;
  for (const WorkedExample::Line& l : example.lines()) {
    if (l.formula.starts_with("\nCheck")) break;
    if (l.numbers.empty()) continue;
    if (l.formula.find("1e-06") != std::string::npos) tolerance = 2e-6;
    const bool behind = !l.formula.empty() &&
                        (l.formula.find("sum(exp(") != std::string::npos || mentions(l.tree, soft));
    if (behind) soft.insert(l.symbol);
    for (const double x : l.numbers)
      if (short_form(x, tolerance).empty()) ++(behind ? count.behind : count.before);
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

// What a search makes small. A right word that is all but certain or all but impossible has
// gradients in which there is nothing to see.
double cost(const WorkedExample& example) {
  const Unfinished count = unfinished(example);
  double sum = 20.0 * count.before + count.behind;
  if (degenerate(example)) sum += 1e6;
  for (const WorkedExample::Line& l : example.lines()) {
    if (l.symbol == "L" && (l.numbers[0] > 3 || l.numbers[0] < 0.05)) sum += 60;
    if (l.symbol == "S" && std::all_of(l.numbers.begin(), l.numbers.end(),
                                       [&](double x) { return x == l.numbers[0]; }))
      sum += 40;
    // A word in the context's direction, or against it, has no slope that turns it.
    if (l.symbol.starts_with("c_") && l.numbers.size() > 1)
      for (const double c : l.numbers) sum += std::abs(c) > 1 - 1e-9 ? 5 : 0;
    // A margin of no angle shows nothing, and arccos has no digits there.
    if (l.symbol.starts_with("theta") && std::abs(l.numbers[0]) < 1e-6) sum += 200;
    // What is given: short too, and not all on the axes.
    if (l.formula.empty() && l.numbers.size() > 1)
      for (const double x : l.numbers) sum += x == 0 ? 0.2 : is_decimal(x) ? 0 : 0.1;
  }
  return sum;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t k = 0; k < names.size(); ++k)
    out += (k == 0 ? "" : k + 1 == names.size() ? " and " : ", ") + names[k];
  return out;
}

}  // namespace

int unfinished_numbers(const WorkedExample& example) { return unfinished(example).before; }

WorkedExample exercise(const std::string& name, uint64_t seed) {
  Draws draws(seed);
  if (const auto numbers = drawn_numbers(name, draws)) return explain(name, ShortNumbers(*numbers));
  const ShortNumbers usual;
  try {
    explain(name, usual);
  } catch (const UsageError& e) {  // a wrong name
    const std::string message = e.what(), flag = "--explain";
    throw UsageError(message.starts_with(flag) ? "--exercise" + message.substr(flag.size())
                                               : message);
  }
  const size_t used = std::min(usual.asked(), kMostNumbers);
  require(used > 0, "[exercise] the example of ", name,
          " asks for no numbers: drawn_numbers() lacks it");
  const auto cost_of = [&](const std::vector<double>& numbers) {
    try {
      return cost(explain(name, ShortNumbers(numbers, false)));
    } catch (const Error&) {
      return double{INFINITY};  // two vectors in one place, or a kink: no number to compute there
    }
  };
  std::multimap<double, std::vector<double>> found;
  for (int start = 0; start < kStarts; ++start) {
    const std::vector<double>& pool =
        pools()[(seed + static_cast<uint64_t>(start)) % pools().size()];
    std::vector<double> numbers(kMostNumbers);
    for (double& x : numbers) x = pool[draws.below(pool.size())];
    double now = cost_of(numbers);
    for (int change = 0; change < kChanges; ++change) {
      std::vector<double> other = numbers;
      other[draws.below(used)] = pool[draws.below(pool.size())];
      if (now == INFINITY) other[draws.below(used)] = pool[draws.below(pool.size())];
      const double then = cost_of(other);
      if (then <= now) numbers = std::move(other), now = then;
    }
    if (now < INFINITY) found.emplace(now, std::move(numbers));
  }
  for (const auto& [sum, numbers] : found) {
    try {
      return explain(name, ShortNumbers(numbers));
    } catch (const Error&) {  // a kink, where differences say nothing: the next best
    }
  }
  fail("--exercise ", name, " --seed ", seed,
       ": no draw has finite numbers and gradients; try another seed");
}

std::string exercise_text(const std::string& name, uint64_t seed, bool solution) {
  const WorkedExample best = exercise(name, seed);
  if (solution) return best.text(true);
  std::string text = concat("Exercise ", name, ", seed ", seed, ". ");
  bool given = true;
  for (const WorkedExample::Line& l : best.lines()) {
    given = given && !l.formula.starts_with("\nForward");
    // A gradient that comes from above is given too.
    if (!given && (l.numbers.empty() || !l.formula.empty())) continue;
    if (l.numbers.empty()) {
      if (l.formula.starts_with("\nAs typed:")) continue;  // a formula's slopes are asked for
      const bool title = &l == &best.lines().front();
      text += (title ? l.formula.substr(0, l.formula.find('\n')) : l.formula) + '\n';
      continue;
    }
    text += "  " + l.symbol + " =";
    for (const double x : l.numbers) {
      const std::string form = short_form(x);
      text += ' ' + (form.empty() ? concat(x) : form);
    }
    text += '\n';
  }
  text += concat("\nCompute ", listed(best.results()), ".\n");
  for (const char* loss : {"L", "L_uniform", "R_squared", "R_variance"})
    for (const WorkedExample::Line& l : best.lines())
      if (l.symbol == loss)
        text +=
            concat("To compare with: ", loss, " = ", std::round(1e5 * l.numbers[0]) / 1e5, ".\n");
  return text + concat("The steps: kernel_inspect --exercise ",
                       name.find_first_of("{*") == std::string::npos ? name : "'" + name + "'",
                       " --seed ", seed, " --solution\n");
}

}  // namespace nine::app
