// Finds the texts that end a continuation, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nine::app {

/// Stop texts, prepared for reading (Knuth, Morris and Pratt, 1977): each byte costs the same on
/// average, however long the texts are.
class StopTexts {
 public:
  /// Error: an empty text.
  explicit StopTexts(const std::vector<std::string>& texts);

  /// How many bytes of each stop text a text ends with. Empty at a text's beginning.
  using Matched = std::vector<uint32_t>;
  /// Reads a text's next byte. Returns the size of the longest stop text that ends with this byte,
  /// or 0. After a stop text, read no further.
  size_t read(char byte, Matched& matched) const;
  /// Returns how many of the last bytes may be the beginning of a stop text.
  static size_t held_back(const Matched& matched);

 private:
  struct Stop {
    std::string text;
    // For each number of matched bytes, from 1 on: the longest shorter beginning of the text that
    // these bytes end with.
    std::vector<uint32_t> shorter;
  };
  static uint32_t next(const Stop& stop, uint32_t matched, char byte);

  std::vector<Stop> stops_;
};

}  // namespace nine::app
