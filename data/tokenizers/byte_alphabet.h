// GPT-2's alphabet of bytes: vocabularies spell each byte as a visible character. The bytes of
// visible Latin-1 characters stand for themselves; the other 68 become U+0100 and the characters
// after it, in the order of the bytes. So a space is U+0120.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// Returns the character of a byte, in UTF-8.
std::string_view byte_character(unsigned char byte);
/// Returns bytes in the alphabet's spelling.
std::string spell_bytes(std::string_view bytes);
/// Sets `bytes` to what a spelling stands for. Returns false if a character is not of the alphabet.
bool read_spelling(std::string_view spelling, std::string& bytes);
/// Returns all bytes in the order of their characters' code points.
std::vector<unsigned char> bytes_by_character();

}  // namespace nine
