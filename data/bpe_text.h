// Text as subword-nmt reads it: words are separated by the space U+0020 and by nothing else, so
// that a tab, NBSP or U+2028 is part of its word. data/text.h has the rest of the rules
// (kCopiedText).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "data/text.h"
#include "data/word_counts.h"

namespace nine {

/// Where the words of a line begin and end: around them are spaces.
struct LineMargins {
  size_t begin = 0, end = 0;
  explicit LineMargins(std::string_view line) {
    begin = std::min(line.find_first_not_of(' '), line.size());
    end = begin == line.size() ? begin : line.find_last_not_of(' ') + 1;
  }
};

/// Calls f(word) for each word of a line.
template <class F>
void for_each_bpe_word(std::string_view line, F&& f) {
  const LineMargins margins(line);
  const char* at = line.data() + margins.begin;
  const char* const end = line.data() + margins.end;
  while (at < end) {
    const void* space = std::memchr(at, ' ', static_cast<size_t>(end - at));
    const char* stop = space ? static_cast<const char*>(space) : end;
    if (stop > at) f(std::string_view(at, static_cast<size_t>(stop - at)));
    at = stop + 1;
  }
}

/// Counts the words of a block of lines, or of a text.
void count_bpe_words(std::string_view block, WordCounts& counts);
void count_bpe_words(TextReader& text, WordCounts& counts);
/// Adds the lines of a vocabulary file, `word count` each. Errors: a line that is not that.
void read_bpe_counts(TextReader& text, WordCounts& counts);
/// subword-nmt's vocabulary file: `word count` a line, the most frequent first, ties in order of
/// first appearance.
std::string bpe_vocabulary_text(const WordCounts& counts);

/// Splits `line`, without surrounding spaces, at its only space; false when it has none or several.
bool split_in_two(std::string_view line, std::string_view& first, std::string_view& second);

}  // namespace nine
