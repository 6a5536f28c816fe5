// Learning byte pair encoding (Sennrich, Haddow and Birch, "Neural machine translation of rare
// words with subword units", ACL 2016): the most frequent pair of neighbouring symbols becomes one
// symbol, repeatedly.
#pragma once

#include <cstdint>
#include <string>

#include "data/word_counts.h"

namespace nine {

/// How codes are learned, and when learning stops.
struct BpeLearning {
  int64_t merges = 10000;     ///< at most
  int64_t min_frequency = 2;  ///< stop when no pair is as frequent; >= 1
  /// Subtract the number of different characters, those inside words and those that end one, from
  /// `merges`.
  bool total_symbols = false;
};

/// Learned codes with figures about them.
struct LearnedBpe {
  std::string codes;  ///< the file: "#version: 0.2" and a line `left right` for each merge
  int64_t merges = 0;
  int64_t inner_characters = 0;  ///< different ones inside words
  int64_t final_characters = 0;  ///< different ones at the ends of words
  bool ran_out = false;          ///< no pair was left that is frequent enough
};

/// Learns merges from the words of a text; the file equals the one of subword-nmt 0.3, also where
/// pairs tie: among pairs of one frequency the greatest in the order of code points is taken. Time:
/// the text's distinct words times their merges.
LearnedBpe learn_bpe(const WordCounts& text, const BpeLearning& how);

}  // namespace nine
