// Code points in UTF-8 text that is known to be valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nine {

/// Returns the number of bytes of the character whose first byte is `lead`.
constexpr size_t utf8_length(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Returns the code points of `text`.
std::u32string code_points(std::string_view text);
/// Appends a code point to UTF-8 text.
void append_utf8(std::string& text, char32_t code);

/// Returns the number of bytes of the white space character at the start of `text`; 0 if `text`
/// starts with another character. White space is as in Python's str.isspace() and `\s`:
/// U+0009-000D, 001C-0020, 0085, 00A0, 1680, 2000-200A, 2028, 2029, 202F, 205F, 3000.
size_t space_at_start(std::string_view text);
/// Returns the same for the end of `text`.
size_t space_at_end(std::string_view text);

}  // namespace nine
