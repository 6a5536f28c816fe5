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

/// Returns the text of a dict.txt: a line for each of `words` (by id) from number `specials` on.
/// The line of a repeated word has the flag. If the first word begins with U+FEFF, a byte-order
/// mark is written before it, because TextReader drops the first mark of a file. fairseq keeps both
/// marks and reads this word with one mark too many.
std::string dict_text(std::span<const std::string> words, std::span<const int64_t> counts,
                      int32_t specials);

/// Parses `word count` or `word count #fairseq:overwrite`. Errors begin with `place`, such as
/// "dict.txt, line 12". Only the space separates, as in fairseq. A tab is part of its word: no text
/// has words with tabs, but dictionaries of older translation models may have them, and their ids
/// must not change.
DictEntry parse_dict_line(std::string_view line, const std::string& place);

}  // namespace nine
