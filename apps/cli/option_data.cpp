#include "apps/cli/option_data.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/error.h"
#include "core/quote.h"

namespace nine::app {
namespace {

// 1000000 rather than the shorter 1e+06
std::string number_text(double x) {
  if (std::abs(x) < 1e15 && x == std::round(x)) return std::to_string(static_cast<int64_t>(x));
  return concat(x);
}

bool is_closed(const Bounds& b) {
  return std::isfinite(b.low) && std::isfinite(b.high) && !b.low_open && !b.high_open;
}

std::string with_bounds(const std::string& noun, const Bounds& bounds) {
  const std::string text = bounds_text(bounds);
  return text.empty() ? noun : noun + (is_closed(bounds) ? " from " : " ") + text;
}

template <class T>
std::string valid_number(const Bounds& bounds) {
  if constexpr (std::is_floating_point_v<T>) return with_bounds("a number", bounds);
  if (std::is_unsigned_v<T> && !std::isfinite(bounds.low))
    return with_bounds("a whole number, not negative", bounds);
  return with_bounds("a whole number", bounds);
}

}  // namespace

std::string OptionData::present_word(const std::string& older) const {
  std::vector<std::string> known;
  for (const auto& [was, now] : older_words) {
    if (was == older) return now;
    known.push_back(was);
  }
  throw UsageError(concat("--", older_name, " ", shortened(older), ": must be one of ",
                          comma_separated(known), "; the option's present name is ", typed()));
}

bool OptionData::names_files() const {
  if (positional) return true;
  constexpr const char* kUnits[] = {"FILE", "DIR", "CHECKPOINT", "A B", "IN.json"};
  return std::any_of(std::begin(kUnits), std::end(kUnits),
                     [&](const char* known) { return unit.starts_with(known); });
}

std::string OptionData::key() const { return key_of(name); }

std::string key_of(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

std::string flag_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

std::string bounds_text(const Bounds& b) {
  if (is_closed(b)) return number_text(b.low) + " to " + number_text(b.high);
  const bool low = std::isfinite(b.low), high = std::isfinite(b.high);
  std::string out;
  if (low) out = (b.low_open ? "above " : "at least ") + number_text(b.low);
  if (high)
    out += (low ? std::string(" and ") : std::string()) + (b.high_open ? "below " : "at most ") +
           number_text(b.high);
  return out;
}

std::string valid_text(const OptionData& option) {
  if (!option.choices.empty()) return "one of " + comma_separated(option.choices);
  return std::visit(
      [&](const auto* field) -> std::string {
        using T = std::remove_cvref_t<decltype(*field)>;
        if constexpr (std::is_same_v<T, bool>)
          return "true or false";
        else if constexpr (std::is_arithmetic_v<T>)
          return valid_number<T>(option.bounds);
        else if constexpr (std::is_same_v<T, std::array<double, 2>>)
          return with_bounds("two numbers such as 0.9,0.999, each", option.bounds)
              .append(bounds_text(option.bounds).empty() ? " finite" : "");
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return "a list of texts";
        else if constexpr (std::is_same_v<T, TextField>)
          return field->valid();
        else
          return "a text";
      },
      option.field);
}

}  // namespace nine::app
