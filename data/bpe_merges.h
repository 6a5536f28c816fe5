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
  /// In the order of learning. A pair may be there twice; the later merge counts.
  std::vector<BpeMerge> merges;
};

/// Settings of learn_merges().
struct BpeMergeLearning {
  int64_t symbols = 32'000;   ///< the most symbols, those of the bytes included
  int64_t min_frequency = 2;  ///< stops when the most frequent pair occurs fewer times; >= 1
};

/// Calls its argument with words and their counts. A word may come several times.
using CountedWords = std::function<void(const std::function<void(std::string_view, int64_t)>&)>;

/// Learns merges of the bytes of words, whose order does not change the result. The
/// symbols of bytes come first, in the order of `alphabet`, which has each byte once. Each step
/// merges the pair of the highest count; of equal counts the pair with the lowest left symbol, then
/// with the lowest right symbol. Two ways to make one text give one symbol, whose pairs keep the
/// counts of both, as in Hugging Face tokenizers: the merges are the same as of its BpeTrainer.
BpeMerges learn_merges(const CountedWords& words, std::span<const unsigned char> alphabet,
                       const BpeMergeLearning& how);
BpeMerges learn_merges(const WordCounts& words, std::span<const unsigned char> alphabet,
                       const BpeMergeLearning& how);

}  // namespace nine
