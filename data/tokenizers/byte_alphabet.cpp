#include "data/tokenizers/byte_alphabet.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "data/unicode.h"

namespace nine {

namespace {

constexpr uint32_t kFirst = 0x100;  // the character of the first byte that is not visible

constexpr bool is_visible(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

struct Alphabet {
  std::array<uint32_t, 256> codes{};         // by byte
  std::array<std::string, 256> characters;   // by byte
  std::array<int16_t, kFirst + 68> bytes{};  // by code point; -1: not of the alphabet

  Alphabet() {
    bytes.fill(-1);
    uint32_t next = kFirst;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      codes[byte] = is_visible(byte) ? byte : next++;
      append_utf8(characters[byte], static_cast<char32_t>(codes[byte]));
      bytes[codes[byte]] = static_cast<int16_t>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet the;
  return the;
}

}  // namespace

std::string_view byte_character(unsigned char byte) { return alphabet().characters[byte]; }

std::string spell_bytes(std::string_view bytes) {
  std::string out;
  for (char c : bytes) out += byte_character(static_cast<unsigned char>(c));
  return out;
}

bool read_spelling(std::string_view spelling, std::string& bytes) {
  bytes.clear();
  const auto at = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(spelling[i]));
  };
  for (size_t i = 0; i < spelling.size();) {
    uint32_t code = at(i);
    if (code >= 0x80) {  // of the alphabet only if it has two bytes
      if ((code & 0xE0) != 0xC0 || i + 1 == spelling.size()) return false;
      code = (code & 0x1F) << 6 | (at(++i) & 0x3F);
    }
    ++i;
    if (code >= alphabet().bytes.size() || alphabet().bytes[code] < 0) return false;
    bytes += static_cast<char>(alphabet().bytes[code]);
  }
  return true;
}

std::vector<unsigned char> bytes_by_character() {
  std::vector<unsigned char> bytes(256);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  std::sort(bytes.begin(), bytes.end(), [](unsigned char a, unsigned char b) {
    return alphabet().codes[a] < alphabet().codes[b];
  });
  return bytes;
}

}  // namespace nine
