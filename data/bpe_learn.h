// Learning byte pair encoding (Sennrich, Haddow and Birch, "Neural machine translation of rare
// words with subword units", ACL 2016): the most frequent pair of neighbouring symbols becomes one
// symbol, repeatedly.
#pragma once

#include <cstdint>
#include <string>

#include "data/word_counts.h"

namespace nine {

/// Settings of learning, and of its end.
struct BpeLearning {
  int64_t merges = 10000;     ///< the most merges to learn
  int64_t min_frequency = 2;  ///< stops when the most frequent pair occurs fewer times; >= 1
  /// True: `merges` limits different characters and merges together. A character counts twice if it
  /// occurs inside words and at their ends.
  bool total_symbols = false;
};

/// Learned codes and their figures.
struct LearnedBpe {
  std::string codes;  ///< the file: "#version: 0.2" and a line `left right` for each merge
  int64_t merges = 0;
  int64_t inner_characters = 0;  ///< different characters inside words
  int64_t final_characters = 0;  ///< different characters at the ends of words
  bool ran_out = false;          ///< true if learning stopped because no pair was left that occurs
                                 ///< min_frequency times
};

/// Learns merges from the words of a text. The file equals the file of subword-nmt 0.3, ties
/// included: among pairs of equal frequency the greatest in the order of code points comes first.
/// The time is proportional to the number of merges inside the text's distinct words, summed over
/// the words.
LearnedBpe learn_bpe(const WordCounts& text, const BpeLearning& how);

}  // namespace nine
