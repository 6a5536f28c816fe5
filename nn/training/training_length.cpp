#include "nn/training/training_length.h"

#include <array>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/quote.h"

namespace nine {
namespace {

constexpr double kLargest = 9007199254740992.0;  // 2^53: up to here a double is exact
constexpr std::array<std::pair<char, int64_t>, 3> kScales{
    {{'G', 1'000'000'000}, {'M', 1'000'000}, {'K', 1'000}}};

[[noreturn]] void refuse(std::string_view text, std::string_view problem) {
  throw UsageError(concat(quote(text), " ", problem,
                          "; write epochs as 10e, updates as 300u or 300Ku, tokens as 20Mt"));
}

int64_t take_scale(std::string_view& rest) {
  for (const auto& [letter, factor] : kScales) {
    if (rest.starts_with(letter)) {
      rest.remove_prefix(1);
      return factor;
    }
  }
  return 1;
}

TrainingUnit unit_from_text(std::string_view unit, std::string_view whole) {
  for (const auto& [known, name] : kEnumNames<TrainingUnit>.values)
    if (unit == name) return known;
  refuse(whole, unit.empty() ? "has no unit" : "is not an amount");
}

}  // namespace

int64_t TrainingLength::counter(int64_t epochs, int64_t updates, int64_t tokens) const {
  switch (unit) {
    case TrainingUnit::epochs:
      return epochs;
    case TrainingUnit::updates:
      return updates;
    case TrainingUnit::tokens:
      return tokens;
  }
  return 0;
}

TrainingLength training_length_from_text(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  // fixed: in "10e" the e is a unit, not the start of an exponent
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error == std::errc::result_out_of_range) refuse(text, "is too large");
  if (error != std::errc{} || !std::isfinite(number)) refuse(text, "is not an amount");
  if (std::signbit(number)) refuse(text, "is negative");
  std::string_view rest(stop, static_cast<size_t>(end - stop));
  number *= static_cast<double>(take_scale(rest));
  const TrainingUnit unit = unit_from_text(rest, text);
  if (number > kLargest) refuse(text, "is too large");
  if (std::abs(number - std::round(number)) > 1e-9 * number)
    refuse(text, "is not a whole number");  // 1.1 * 1000 is not exactly 1100
  return {std::llround(number), unit};
}

std::string to_text(const TrainingLength& length) {
  const std::string unit = to_text(length.unit);
  for (const auto& [letter, factor] : kScales)
    if (length.value != 0 && length.value % factor == 0)
      return concat(length.value / factor, letter, unit);
  return concat(length.value, unit);
}

}  // namespace nine
