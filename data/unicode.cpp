#include "data/unicode.h"

namespace nine {

std::u32string code_points(std::string_view text) {
  std::u32string codes;
  codes.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text[at]);
    constexpr uint32_t kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = static_cast<uint8_t>(text[at]) & kLeadBits[length];
    for (size_t i = 1; i < length; ++i)
      code = code << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3F);
    codes += static_cast<char32_t>(code);
    at += length;
  }
  return codes;
}

void append_utf8(std::string& text, char32_t code) {
  const auto byte = [&](uint32_t value) { text += static_cast<char>(value); };
  const auto tail = [&](int shift) { byte(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    byte(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

size_t space_at_start(std::string_view text) {
  if (text.empty()) return 0;
  const size_t length = utf8_length(text[0]);
  const auto byte = [&](size_t i) -> uint32_t { return static_cast<uint8_t>(text[i]); };
  if (length == 1)
    return (byte(0) >= 0x09 && byte(0) <= 0x0D) || (byte(0) >= 0x1C && byte(0) <= 0x20) ? 1 : 0;
  if (length > text.size() || length == 4) return 0;
  if (length == 2) return byte(0) == 0xC2 && (byte(1) == 0x85 || byte(1) == 0xA0) ? 2 : 0;
  const uint32_t code = (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  const bool space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
                     code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
  return space ? 3 : 0;
}

size_t space_at_end(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && (static_cast<uint8_t>(text[--begin]) & 0xC0) == 0x80) {
  }
  return space_at_start(text.substr(begin));
}

}  // namespace nine
