// A hash table with text as keys. A look-up with a string_view copies no text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nine {

/// A hash function for std::string and std::string_view.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
/// A hash table from text to Value.
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace nine
