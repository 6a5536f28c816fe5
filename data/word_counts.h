// How often each word of a text occurs.
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
  int64_t sentences = 0;        ///< that add_sentence() took
  int64_t tokens = 0;           ///< their words, without ends of sentence

  /// Counts `count` occurrences of a word.
  void add(std::string_view word, int64_t count = 1);
  /// Counts a sentence and its words.
  void add_sentence(std::span<const std::string_view> sentence);
  /// The same for a line, whose words spaces and tabs separate (data/text.h).
  void add_sentence(std::string_view line);

  /// Word numbers, the most frequent first, ties in order of first appearance.
  std::vector<int32_t> by_count() const;
  /// The same with ties by code point, as in a dictionary.
  std::vector<int32_t> by_count_and_code_point() const;
};

/// Counts the words of files, or of lines in memory. Errors: TextReader's.
WordCounts count_words(const std::vector<std::string>& paths);
WordCounts count_words_of_lines(std::span<const std::string> lines);

/// Perplexity of a text by the word frequencies of another: what a model scores that has learnt
/// nothing but these. `train` and `text`: how often each id occurs, of one length, some of `text`
/// above 0; counts of `train` below 1 are taken as 1.
double unigram_perplexity(std::span<const int64_t> train, std::span<const int64_t> text);

}  // namespace nine
