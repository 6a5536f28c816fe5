#include "kernels/settings/head_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/quote.h"

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

}  // namespace nine
