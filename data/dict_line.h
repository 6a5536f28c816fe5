// A line of fairseq's dict.txt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nine {

/// Ends the line of a word that the dictionary already has; the word then keeps both ids.
inline constexpr std::string_view kDictOverwrite = "#fairseq:overwrite";

struct DictEntry {
  std::string_view word;
  int64_t count = 0;
  bool overwrite = false;
};

/// Parses `word count` or `word count #fairseq:overwrite`; `place` ("dict.txt, line 12") opens errors.
DictEntry parse_dict_line(std::string_view line, const std::string& place);

}  // namespace nine
