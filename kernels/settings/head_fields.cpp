#include "kernels/settings/head_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/quote.h"
#include "core/suggest.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/parse.h"

namespace nine {
namespace {

constexpr std::string_view kLearn = "learn", kLearnPositive = "learn+";

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

std::vector<HeadField> head_fields(std::string_view component, size_t first) {
  const std::vector<std::string_view> texts = split_head(component, ':');
  std::vector<HeadField> fields;
  for (size_t f = first; f < texts.size(); ++f) {
    const size_t equals = texts[f].find('=');
    if (equals == std::string_view::npos)
      fail_usage(quote(texts[f]), " in ", quote(component), " must be PARAMETER=VALUE");
    HeadField field{.name = texts[f].substr(0, equals), .value = texts[f].substr(equals + 1)};
    if (std::any_of(fields.begin(), fields.end(),
                    [&](const HeadField& other) { return other.name == field.name; }))
      fail_usage(quote(component), " names ", field.name, " twice");
    if (field.value == kLearn || field.value == kLearnPositive) {
      field.learned = true;
      field.plus = field.value == kLearnPositive;
      field.value = {};
      if (f + 1 < texts.size() && texts[f + 1].find('=') == std::string_view::npos) {
        field.value = texts[++f];
        if (field.value.empty())
          fail_usage(quote(component), " has an empty field: write ", texts[f - 1], ":START, or ",
                     texts[f - 1], " alone to start at the default");
      }
    }
    fields.push_back(field);
  }
  return fields;
}

void learn_number(Score& score, int i, const HeadField& field, bool must_be_positive,
                  const std::string& what) {
  const bool positive = field.plus || must_be_positive;
  if (positive && !(score.number(i) > 0))
    fail_usage(what, " is kept positive, so it must start at a number > 0, not at ",
               score.number(i));
  score.learned = static_cast<uint16_t>(score.learned | 1 << i);
  if (positive) score.positive = static_cast<uint16_t>(score.positive | 1 << i);
}

void read_scale(const HeadField& field, const std::string& kernel, Score& score) {
  if (!field.value.empty() || !field.learned) {
    if (!read_number(field.value, score.scale))
      fail_usage(kernel, "'s scale is not a number: ", quote(field.value));
    if (!(score.scale > 0)) fail_usage(kernel, "'s scale is ", score.scale, ", but must be > 0");
  }
  if (field.learned) learn_number(score, kScaleNumber, field, true, concat(kernel, "'s scale"));
}

std::string number_text(const Score& score, int i, const std::string& name, bool always_positive) {
  const bool plus = !always_positive && (score.positive >> i & 1) != 0;
  return concat(":", name, "=",
                !score.learns(i) ? ""
                : plus           ? "learn+:"
                                 : "learn:",
                score.number(i));
}

std::string scale_text(const Score& score) {
  if (score.scale == 1 && !score.learns(kScaleNumber)) return {};
  return number_text(score, kScaleNumber, "scale", true);
}

bool read_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

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

// Returns the text between the braces of a component's second field.
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
    fail_usage("after the } of ", quote(component), " comes ", quote(field.substr(end + 1)),
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
      fail_usage("expr's ", field.name, " is learned and needs a number to start from: write ",
                 field.name, "=learn:START, such as ", field.name, "=learn:1");
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
                 "} has no value: give the value after the formula, :", names[k],
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
