// The identity of a text: a checksum of the words that a program reads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/crc32c.h"
#include "data/text.h"

namespace nine {

/// Computes the CRC-32C of a text's lines. Each line counts as its words, separated by single
/// spaces, and a line feed. So two texts (kModelText) with the same words in the same lines have
/// the same checksum, whatever their files, spaces and line ends are.
class LineChecksum {
 public:
  void add(std::span<const std::string_view> words) {
    for (size_t i = 0; i < words.size(); ++i) add_word(words[i], i == 0);
    add_text("\n");
  }
  void add(std::string_view line) {
    bool first = true;
    for_each_word(line, [&](std::string_view word) {
      add_word(word, first);
      first = false;
    });
    add_text("\n");
  }
  /// Adds the bytes of a raw text as they are.
  void add_bytes(std::string_view text) { add_text(text); }
  /// Adds a raw line as it is, with a line feed.
  void add_raw_line(std::string_view line) {
    add_text(line);
    add_text("\n");
  }
  uint32_t value() const { return crc_; }

 private:
  void add_word(std::string_view word, bool first) {
    if (!first) add_text(" ");
    add_text(word);
  }
  void add_text(std::string_view text) { crc_ = crc32c(crc_, text.data(), text.size()); }

  uint32_t crc_ = 0;
};

}  // namespace nine
