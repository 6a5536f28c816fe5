// Unicode's normal forms, by utf8proc, and Unicode's white space.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nine {

/// U+2581, by which SentencePiece marks a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

enum class UnicodeForm { nfc, nfd, nfkc, nfkd };

/// Puts valid UTF-8 text into a normal form. Error: this copy of Nine was built without utf8proc.
void normalize_unicode(std::string& text, UnicodeForm form);
/// True if this copy of Nine was built with utf8proc.
bool has_unicode_forms();

/// Returns the number of bytes of the character of White_Space at the start of `text`; 0 if `text`
/// starts with another character. (space_at_start() of data/unicode.h has Python's white space,
/// which also has U+001C to U+001F.)
size_t white_space_at_start(std::string_view text);
size_t white_space_at_end(std::string_view text);

}  // namespace nine
