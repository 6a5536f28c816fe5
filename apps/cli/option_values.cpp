#include "apps/cli/option_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "apps/cli/short_message.h"
#include "core/error.h"
#include "core/json.h"
#include "core/misfit.h"
#include "core/quote.h"
#include "core/suggest.h"

namespace nine::app {
namespace {

using Strings = std::vector<std::string>;
using Pair = std::array<double, 2>;

template <class T>
constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw UsageError(where + ": " + problem);
}

[[noreturn]] void refuse(const OptionData& option, const std::string& where) {
  refuse(where, "must be " + valid_text(option));
}

// An integer that is too large or too small: "must be a whole number" would not help, since it is
// one; but "not negative" does.
template <class T>
[[noreturn]] void refuse_size(const OptionData& option, const std::string& where, bool negative) {
  if constexpr (std::is_integral_v<T>) {
    const bool said = std::isfinite(negative ? option.bounds.low : option.bounds.high) ||
                      (negative && std::is_unsigned_v<T>);
    refuse(where,
           said ? "must be " + valid_text(option)
                : concat("is too ", negative ? "small" : "large", ", must be a whole number from ",
                         std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max()));
  }
  refuse(where, "is beyond the range of a double, must be " + valid_text(option));
}

template <class T>
T number_from_text(const OptionData& option, const std::string& where, std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end)
    refuse_size<T>(option, where, text.starts_with('-'));
  if (error != std::errc{} || stop != end) refuse(option, where);
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) refuse(option, where);
  }
  return value;
}

Pair pair_from_text(const OptionData& option, const std::string& where, std::string_view text) {
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos) refuse(option, where);
  return {number_from_text<double>(option, where, text.substr(0, comma)),
          number_from_text<double>(option, where, text.substr(comma + 1))};
}

template <class T>
T from_text(const OptionData& option, const std::string& where, const std::string& text) {
  if constexpr (std::is_same_v<T, bool>) {
    return text == "true";
  } else if constexpr (kIsNumber<T>) {
    return number_from_text<T>(option, where, text);
  } else if constexpr (std::is_same_v<T, Pair>) {
    return pair_from_text(option, where, text);
  } else {
    return text;
  }
}

template <class T>
T number_from_json(const OptionData& option, const std::string& where, const Json& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) refuse(option, where);
    return value.get<T>();
  } else {
    if (!value.is_number_integer()) refuse(option, where);
    const bool large =
        value.is_number_unsigned();  // nlohmann keeps what is not negative as uint64_t
    if (large ? !std::in_range<T>(value.get<uint64_t>()) : !std::in_range<T>(value.get<int64_t>()))
      refuse_size<T>(option, where, !large);
    return value.get<T>();
  }
}

Strings strings_from_json(const OptionData& option, const std::string& where, const Json& value) {
  if (!value.is_array()) refuse(option, where);
  Strings out;
  for (const Json& item : value) {
    if (!item.is_string()) refuse(option, where);
    out.push_back(item.get<std::string>());
  }
  return out;
}

template <class T>
T from_json(const OptionData& option, const std::string& where, const Json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean()) refuse(option, where);
    return value.get<bool>();
  } else if constexpr (kIsNumber<T>) {
    return number_from_json<T>(option, where, value);
  } else if constexpr (std::is_same_v<T, Pair>) {
    if (!value.is_array() || value.size() != 2) refuse(option, where);
    return {number_from_json<double>(option, where, value[0]),
            number_from_json<double>(option, where, value[1])};
  } else if constexpr (std::is_same_v<T, Strings>) {
    return strings_from_json(option, where, value);
  } else {
    if (!value.is_string()) refuse(option, where);
    return from_text<T>(option, where, value.get<std::string>());
  }
}

void check_choice(const OptionData& option, const std::string& where, const std::string& text) {
  const Strings& words = option.choices;
  if (!words.empty() && std::find(words.begin(), words.end(), text) == words.end())
    refuse(where, "not one of " + comma_separated(words) + did_you_mean(text, words));
}

// Calls f(text), whose Error becomes a UsageError that says where the text is from.
void refuse_errors_of(const auto& f, const std::string& where, const std::string& text) {
  try {
    f(text);
  } catch (const Error& e) {
    refuse(where, e.what());
  }
}

void check_text(const OptionData& option, const std::string& where, const std::string& text) {
  if (text.empty() && option.may_be_empty && !option.required) return;
  check_choice(option, where, text);
  if (option.check) {
    refuse_errors_of(option.check, where, text);
  } else if (text.empty()) {
    refuse(where, "is empty");
  }
}

template <class T>
void check_value(const OptionData& option, const std::string& where, const T& value) {
  if constexpr (kIsNumber<T>) {
    if (!option.bounds.contains(static_cast<double>(value))) refuse(option, where);
  } else if constexpr (std::is_same_v<T, Pair>) {
    for (double x : value) check_value(option, where, x);
  } else if constexpr (std::is_same_v<T, std::string>) {
    check_text(option, where, value);
  } else if constexpr (std::is_same_v<T, Strings>) {
    for (const std::string& text : value) {
      if (text.empty()) refuse(where, "is empty");
      if (option.check) refuse_errors_of(option.check, where, text);
    }
  }
}

template <class T>
void set_field(const OptionData& option, const std::string& where, T& field, T value) {
  check_value(option, where, value);
  field = std::move(value);
}

void set_text_field(const OptionData& option, const std::string& where, TextField& field,
                    const std::string& text) {
  check_choice(option, where, text);
  refuse_errors_of([&](const std::string& t) { field.set(t); }, where, text);
}

}  // namespace

std::string field_text(const OptionField& field) {
  return std::visit(
      [](const auto* pointer) -> std::string {
        using T = std::remove_cvref_t<decltype(*pointer)>;
        if constexpr (std::is_same_v<T, bool>)
          return *pointer ? "yes" : "no";
        else if constexpr (std::is_same_v<T, Pair>)
          return concat((*pointer)[0], ",", (*pointer)[1]);
        else if constexpr (std::is_same_v<T, Strings>)
          return comma_separated(*pointer);
        else if constexpr (std::is_same_v<T, TextField>)
          return pointer->text();
        else
          return concat(*pointer);
      },
      field);
}

void set_from_texts(OptionData& option, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) note_value(option, text);
  const bool has_empty = std::find(texts.begin(), texts.end(), "") != texts.end();
  const std::string where = option.typed() + " " + (has_empty ? "''" : shortened(texts[0]));
  std::visit(
      [&](auto* field) {
        using T = std::remove_pointer_t<decltype(field)>;
        if constexpr (std::is_same_v<T, Strings>)
          set_field(option, where, *field, texts);
        else if constexpr (std::is_same_v<T, TextField>)
          set_text_field(option, where, *field, texts[0]);
        else
          set_field(option, where, *field, from_text<T>(option, where, texts[0]));
      },
      option.field);
  option.set = true;
}

void set_from_json(OptionData& option, const Json& value, const std::string& file) {
  for (const Json& text : value.is_array() ? value : Json::array({value}))
    if (text.is_string()) note_value(option, text.get<std::string>());
  const std::string where =
      concat("\"", option.key(), "\": ", shortened(json_text(value)), " in ", file);
  std::visit(
      [&](auto* field) {
        using T = std::remove_pointer_t<decltype(field)>;
        if constexpr (std::is_same_v<T, TextField>)
          set_text_field(option, where, *field, from_json<std::string>(option, where, value));
        else
          set_field(option, where, *field, from_json<T>(option, where, value));
      },
      option.field);
  option.set = true;
}

void require_numbers_fit(const OptionList& options, DType type) {
  for (const OptionData* option : options) {
    const auto check = [&](double x) {
      const std::string where = option->typed() + " " + field_text(option->field);
      const std::string why = misfit(x, type);
      if (!why.empty()) refuse(where, why);
      const double rounded = type == DType::float32 ? static_cast<float>(x) : x;
      const Bounds& b = option->bounds;
      if (b.contains(x) && ((b.low_open && rounded == b.low) || (b.high_open && rounded == b.high)))
        refuse(where, concat("is ", rounded, " in ", type, ", must be ", valid_text(*option)));
    };
    if (const auto* number = std::get_if<double*>(&option->field)) check(**number);
    if (const auto* pair = std::get_if<Pair*>(&option->field)) std::ranges::for_each(**pair, check);
  }
}

Json to_json(const OptionField& field) {
  return std::visit(
      [](const auto* pointer) -> Json {
        if constexpr (std::is_same_v<decltype(pointer), const TextField*>)
          return pointer->text();
        else
          return *pointer;
      },
      field);
}

}  // namespace nine::app
