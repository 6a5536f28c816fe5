#include "kernels/head_formula.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/suggest.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/parse.h"

namespace nine {
namespace {

constexpr std::string_view kExpr = "expr";

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw UsageError(concat(parts...));
}

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

double number_of(std::string_view text, std::string_view name) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (text.starts_with("learn"))
    refuse("expr's ", name, " cannot be learned: give it a number, such as ", name, "=1");
  if (error != std::errc() || read != end || !std::isfinite(value))
    refuse("expr's ", name, " is not a number: '", text, "'");
  return value;
}

// The text between the braces of a component's second field.
std::string_view formula_of(std::string_view component, std::span<const std::string_view> fields) {
  if (fields.size() < 2)
    refuse(
        "expr needs a formula in braces, such as expr:{-log(1+q)} or expr:{b*exp(-g*q)}:b=3:g=1");
  const std::string_view field = fields[1];
  if (!field.starts_with('{'))
    refuse("the formula of '", component, "' must stand in braces: expr:{-q}, not expr:", field);
  const size_t end = field.find('}');
  if (end == std::string_view::npos) refuse("the { in '", component, "' has no }");
  if (end + 1 != field.size())
    refuse("behind the } of '", component, "' comes '", field.substr(end + 1),
           "'; parameters follow a colon: expr:{-q^p}:p=2");
  return field.substr(1, end - 1);
}

}  // namespace

size_t find_outside_braces(std::string_view text, std::string_view characters) {
  bool inside = false;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '{') inside = true;
    if (!inside && characters.find(text[k]) != std::string_view::npos) return k;
    if (text[k] == '}') inside = false;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split_head(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = find_outside_braces(text, {&at, 1});
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_formula(std::string_view component) {
  return component == kExpr || component.starts_with("expr:");
}

Score parse_formula(std::string_view component) {
  const std::vector<std::string_view> fields = split_head(component, ':');
  const std::string_view text = formula_of(component, fields);
  const std::vector<std::string> names = expression::parse(text).parameters;
  std::vector<double> values(names.size(), std::nan(""));
  for (size_t f = 2; f < fields.size(); ++f) {
    const size_t equals = fields[f].find('=');
    if (equals == std::string_view::npos)
      refuse("'", fields[f], "' in '", component, "' must be PARAMETER=VALUE");
    const std::string_view name = fields[f].substr(0, equals);
    if (name == "scale")
      refuse("expr takes no scale: write the factor into the formula, expr:{2*(", text, ")}");
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      refuse("the formula of '", component, "' has no parameter '", name, "'",
             names.empty() ? "" : ", only ", listed(names), did_you_mean(name, names));
    double& value = values[static_cast<size_t>(found - names.begin())];
    if (!std::isnan(value)) refuse("'", component, "' names ", name, " twice");
    value = number_of(fields[f].substr(equals + 1), name);
  }
  Score score{.kind = ScoreKind::expr};
  for (size_t k = 0; k < names.size(); ++k) {
    if (std::isnan(values[k]))
      refuse("the parameter ", names[k], " of expr:{", text,
             "} has no value: give it one behind the formula, :", names[k],
             "=1; the variables are z, q, ww, hh, c and d", did_you_mean(names[k], variables()));
    score.parameters[k] = values[k];
  }
  score.formula = &expression::Formula::of(text, values);
  return score;
}

std::string formula_text(const Score& score) {
  std::string text = concat(kExpr, ":{", score.formula->text(), "}");
  const auto names = score.formula->names();
  for (size_t k = 0; k < names.size(); ++k) text += concat(":", names[k], "=", score.parameters[k]);
  return text;
}

}  // namespace nine
