#include "kernels/settings/head_formula.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/quote.h"
#include "core/suggest.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/parse.h"
#include "kernels/settings/head_fields.h"

namespace nine {
namespace {

constexpr std::string_view kExpr = "expr";

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

std::vector<std::string> variables() {
  std::vector<std::string> names;
  for (int v = 0; v < expression::kVariables; ++v)
    names.emplace_back(expression::name_of(static_cast<expression::Variable>(v)));
  return names;
}

// The text between the braces of a component's second field.
std::string_view formula_of(std::string_view component, std::span<const std::string_view> fields) {
  if (fields.size() < 2)
    fail_usage(
        "expr needs a formula in braces, such as expr:{-log(1+q)} or expr:{b*exp(-g*q)}:b=3:g=1");
  const std::string_view field = fields[1];
  if (!field.starts_with('{'))
    fail_usage("the formula of ", quote(component),
               " must stand in braces: expr:{-q}, not expr:", field);
  const size_t end = field.find('}');
  if (end == std::string_view::npos) fail_usage("the { in ", quote(component), " has no }");
  if (end + 1 != field.size())
    fail_usage("behind the } of ", quote(component), " comes ", quote(field.substr(end + 1)),
               "; parameters follow a colon: expr:{-q^p}:p=2");
  return field.substr(1, end - 1);
}

}  // namespace

bool is_formula(std::string_view component) {
  return component == kExpr || component.starts_with("expr:");
}

Score parse_formula(std::string_view component) {
  const std::string_view text = formula_of(component, split_head(component, ':'));
  const std::vector<std::string> names = expression::parse(text).parameters;
  Score score{.kind = ScoreKind::expr};
  std::vector<bool> given(names.size());
  for (const HeadField& field : head_fields(component, 2)) {
    if (field.name == "scale") {
      read_scale(field, std::string(kExpr), score);
      continue;
    }
    const auto found = std::find(names.begin(), names.end(), field.name);
    if (found == names.end())
      fail_usage("the formula of ", quote(component), " has no parameter ", quote(field.name),
                 names.empty() ? "" : ", only ", listed(names), did_you_mean(field.name, names));
    const auto k = static_cast<size_t>(found - names.begin());
    if (field.learned && field.value.empty())
      fail_usage("expr's ", field.name, " is learned, but from where on? Write ", field.name,
                 "=learn:START, such as ", field.name, "=learn:1");
    if (!read_number(field.value, score.parameters[k]))
      fail_usage("expr's ", field.name, " is not a number: ", quote(field.value));
    if (field.learned)
      learn_number(score, static_cast<int>(k), field, false, concat("expr's ", field.name));
    given[k] = true;
  }
  std::vector<double> fixed(names.size(), std::nan(""));
  for (size_t k = 0; k < names.size(); ++k) {
    if (!given[k])
      fail_usage("the parameter ", names[k], " of expr:{", text,
                 "} has no value: give it one behind the formula, :", names[k],
                 "=1; the variables are z, q, ww, hh, c and d",
                 did_you_mean(names[k], variables()));
    if (!score.learns(static_cast<int>(k))) fixed[k] = score.parameters[k];
  }
  score.formula = &expression::Formula::of(text, fixed);
  return score;
}

std::string formula_text(const Score& score) {
  std::string text = concat(kExpr, ":{", score.formula->text(), "}");
  const auto names = score.formula->names();
  for (size_t k = 0; k < names.size(); ++k)
    text += number_text(score, static_cast<int>(k), names[k], false);
  return text + scale_text(score);
}

}  // namespace nine
