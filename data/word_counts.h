// The number of occurrences of each word of a text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/string_table.h"

namespace nine {

/// The different words of a text in the order of their first appearance, with their counts.
struct WordCounts {
  StringTable words;
  std::vector<int64_t> counts;  ///< by word number
  int64_t sentences = 0;        ///< calls of add_sentence()
  int64_t tokens = 0;           ///< words of the sentences, without ends of sentence

  /// Counts `count` occurrences of a word. Error: the word's count overflows 64 bits.
  void add(std::string_view word, int64_t count = 1);
  /// Returns the bytes of memory that words and counts hold.
  size_t memory() const { return words.memory() + counts.capacity() * sizeof counts[0]; }
  /// Counts a sentence and its words.
  void add_sentence(std::span<const std::string_view> sentence);
  /// Counts a line as a sentence; spaces and tabs separate its words (data/text.h).
  void add_sentence(std::string_view line);

  /// Returns the word numbers by decreasing count, ties in order of first appearance.
  std::vector<int32_t> by_count() const;
  /// Returns the word numbers by decreasing count, ties by code point, as in a dictionary.
  std::vector<int32_t> by_count_and_code_point() const;
};

/// Count the words of text files, a sentence a line, or of lines in memory. gzip or zstd may have
/// packed a file. The errors of reading text (TextReader in data/text.h) name file, line and byte:
/// no paths; a missing or unreadable file; a directory; a damaged packed file; a file that is not
/// text; an empty file; invalid UTF-8; a NUL byte; a CR that does not end a line.
WordCounts count_words(const std::vector<std::string>& paths);
WordCounts count_words_of_lines(std::span<const std::string> lines);

/// Returns the perplexity of `text` for a model that has learnt only the words' frequencies in
/// `train`. Both hold the count of each id and have one length. Counts of `train` below 1 are taken
/// as 1. At least one count of `text` must be above 0.
double unigram_perplexity(std::span<const int64_t> train, std::span<const int64_t> text);

}  // namespace nine
