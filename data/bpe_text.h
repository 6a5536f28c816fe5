// Text as subword-nmt reads it: only the space U+0020 separates words, so a tab, NBSP or U+2028 is
// part of a word. data/text.h has the other rules (kCopiedText).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "data/text.h"
#include "data/word_counts.h"

namespace nine {

/// Holds where the words of a line begin and end, without the spaces around them.
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
/// Adds the words of a vocabulary file, which has one `word count` a line. Error: another line.
void read_bpe_counts(TextReader& text, WordCounts& counts);
/// Returns the text of subword-nmt's vocabulary file: one `word count` a line, the most frequent
/// word first, ties in order of first appearance.
std::string bpe_vocabulary_text(const WordCounts& counts);

/// Splits `line`, without surrounding spaces, at its only space. Returns false if the line has no
/// space inside, or several.
bool split_in_two(std::string_view line, std::string_view& first, std::string_view& second);

}  // namespace nine
