// Learning byte pair encoding by exact counts, over any symbols.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/word_counts.h"

namespace nine {

/// A learned merge: the symbols `left` and `right` become the symbol `result`.
struct BpeMerge {
  int32_t left = 0, right = 0, result = 0;
  bool operator==(const BpeMerge&) const = default;
};

/// The symbols and merges that were learned.
struct BpeMerges {
  std::vector<std::string> symbols;  ///< by symbol: the bytes that it stands for
  /// In the order of learning. A merge may make symbols that an earlier merge joined, so a pair may
  /// be there twice, with the same result. Its rank is then its last place.
  std::vector<BpeMerge> merges;
};

/// Settings of learn_merges().
struct BpeMergeLearning {
  int64_t symbols = 32'000;   ///< the most symbols, those of the bytes included; 256 to 2^24 - 1
  int64_t min_frequency = 2;  ///< stops when the most frequent pair occurs fewer times; >= 1
};

/// A function that gives words to learn_merges(): it calls its argument with each word and a count.
/// If a word comes several times, its counts are added.
using CountedWords = std::function<void(const std::function<void(std::string_view, int64_t)>&)>;

/// Learns merges of the bytes of words. The order of the words does not change the result. The
/// first symbols are the bytes, in the order of `alphabet`, which has each byte once. Each step
/// merges the pair with the highest count. Among equal counts the pair with the lowest left symbol
/// wins, then the pair with the lowest right symbol. If two merges give the same bytes, both give
/// the same symbol, and its pairs have the counts of both. The merges equal those of BpeTrainer in
/// Hugging Face tokenizers. Errors: `alphabet` has not 256 bytes; a setting is out of range; the
/// bytes of all words, each times its count, are 2^62 or more.
BpeMerges learn_merges(const CountedWords& words, std::span<const unsigned char> alphabet,
                       const BpeMergeLearning& how);
BpeMerges learn_merges(const WordCounts& words, std::span<const unsigned char> alphabet,
                       const BpeMergeLearning& how);

}  // namespace nine
