// The lines of fairseq's dict.txt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nine {

/// Ends the line of a word that the dictionary already has; the word then keeps both ids.
inline constexpr std::string_view kDictOverwrite = "#fairseq:overwrite";

/// A parsed line of a dict.txt; `word` points into the line.
struct DictEntry {
  std::string_view word;
  int64_t count = 0;
  bool overwrite = false;
};

/// The text of a dict.txt: a line for each of `words` (by id) from number `specials` on, flagged
/// where the word came before. A first word that itself begins with U+FEFF gets a byte-order mark
/// before it, since TextReader drops the first one of a file; fairseq keeps both and reads the word
/// with one mark too many.
std::string dict_text(std::span<const std::string> words, std::span<const int64_t> counts,
                      int32_t specials);

/// Parses `word count` or `word count #fairseq:overwrite`; `place` ("dict.txt, line 12") opens
/// errors. Only the space separates, as in fairseq. A tab is part of its word here: no text gives
/// such a word, but dictionaries of older translation models may have it, and its id must stay.
DictEntry parse_dict_line(std::string_view line, const std::string& place);

}  // namespace nine
