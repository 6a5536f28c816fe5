#include "core/quote.h"

#include <cstdint>

#include "core/error.h"

namespace nine {

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 60;
  constexpr size_t kMostBytes = 4 * kMost;  // also for bytes that are not UTF-8
  const auto starts = [](char c) { return (static_cast<uint8_t>(c) & 0xC0u) != 0x80; };
  size_t characters = 0, cut = 0;  // `cut`: end of the last character that fits beside a …
  for (size_t at = 0; at < text.size(); ++at) {
    if (!starts(text[at]) && at < kMostBytes) continue;
    if (characters == kMost - 1) cut = at;
    if (characters == kMost || at >= kMostBytes)
      return concat(text.substr(0, cut == 0 ? kMostBytes : cut), "…");
    ++characters;
  }
  return std::string(text);
}

std::string to_text(const Quote& quote) { return concat("'", shortened(quote.text), "'"); }

}  // namespace nine
