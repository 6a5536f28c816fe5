// The names of an enumeration's values, written once beside the enumeration. Options, files and
// messages read this table.
//
//   enum class NormOrder : uint8_t { post, pre };
//   template <>
//   inline constexpr EnumNames<NormOrder, 2> kEnumNames<NormOrder>{
//       "norm order", {{{NormOrder::post, "post"}, {NormOrder::pre, "pre"}}}};
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/quote.h"
#include "core/suggest.h"

namespace nine {

/// A table of N values with their names. Messages call the enumeration `what`.
template <class E, size_t N>
struct EnumNames {
  const char* what;
  std::array<std::pair<E, const char*>, N> values;
};

/// The table of an enumeration; specialised beside each enumeration that has names.
template <class E>
inline constexpr std::nullptr_t kEnumNames = nullptr;

/// An enumeration with a table of names.
template <class E>
concept NamedEnum =
    std::is_enum_v<E> && !std::is_null_pointer_v<std::remove_cv_t<decltype(kEnumNames<E>)>>;

/// Returns all names in the table's order.
template <NamedEnum E>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& [value, name] : kEnumNames<E>.values) names.emplace_back(name);
  return names;
}

/// Returns the name of a value. Error: the table lacks the value.
template <NamedEnum E>
std::string to_text(E value) {
  for (const auto& [known, name] : kEnumNames<E>.values)
    if (known == value) return name;
  fail("[", kEnumNames<E>.what, "] a value without a name");
}

/// Returns the value of a name. UsageError: the table lacks the name; the message lists the names
/// and suggests the nearest.
template <NamedEnum E>
E enum_from_text(std::string_view text) {
  std::string all;
  for (const auto& [value, name] : kEnumNames<E>.values) {
    if (text == name) return value;
    all += concat(all.empty() ? "" : ", ", name);
  }
  throw UsageError(concat(kEnumNames<E>.what, " ", quote(text), " is not one of ", all,
                          did_you_mean(text, enum_names<E>())));
}

}  // namespace nine
