// N-gram models with back-off, read from files in ARPA format, as SRILM, KenLM and IRSTLM write
// them.
//
// The model looks for the longest listed n-gram that has the last words of the history h and then
// w. log p(w | h) is the log p of this n-gram plus the back-off weights of the longer histories
// that are listed (Katz, 1987):
//
//   p(w | h) = p of the file          if h w is listed
//            = b(h) p(w | h')         otherwise; h' is h without its first word, b(h) = 1 if h is
//                                     not listed
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/string_table.h"

namespace nine {

/// An n-gram model. Each order is a level of a trie: arrays that are sorted by the history and then
/// by the word. Memory: 16 bytes an n-gram, 8 of the highest order, and the words.
class NGramModel {
 public:
  /// The largest order.
  static constexpr int kMostOrder = 12;

  /// Reads an ARPA file, which gzip or zstd may have packed. Reading needs 20 more bytes for each
  /// n-gram of one order. Errors name file and line: those of count_words(); no \data\; counts that
  /// do not follow the orders 1, 2, ... or do not match the n-grams; a malformed line; a number
  /// that is not finite; log10 p > 0; a back-off weight of the highest order that is not 0; an
  /// n-gram that is listed twice; an n-gram with a word that is no unigram, or whose history is not
  /// listed; no <s> or no </s>; no \end\ or text after it; IRSTLM's own format; the probabilities
  /// of the unigrams but <s> add up to more than 1.05.
  static NGramModel read(const std::string& path);

  int order() const { return static_cast<int>(levels_.size()); }
  /// Returns the number of n-grams of an order 1 ... order().
  int64_t count(int order) const;
  /// Returns the bytes of memory that the model holds.
  size_t memory() const;

  static constexpr int32_t kNone = -1;
  /// Returns the number of a word as it is listed; kNone if it is not listed.
  int32_t find(std::string_view word) const { return words_.find(word); }
  /// Returns the number of a word; that of <unk> for other words; kNone if <unk> is not listed.
  int32_t id(std::string_view word) const;
  std::string_view word(int32_t id) const { return words_.text(id); }
  /// Return the numbers of <s>, </s> and <unk>. Files may write <UNK> for <unk>; unknown() is kNone
  /// if the file has neither.
  int32_t begin() const { return begin_; }
  int32_t end() const { return end_; }
  int32_t unknown() const { return unknown_; }

  /// A history: the places of its last 1, 2, ... words in the trie. Two histories that are equal
  /// here have the same predictions forever.
  class State {
   public:
    bool operator==(const State&) const = default;
    /// Returns a number that is the same for equal states.
    size_t hash() const;

   private:
    friend NGramModel;
    static constexpr uint32_t kUnlisted = 0xffffffffu;
    int size_ = 0;  // number of places; those behind the last listed history are cut off
    std::array<uint32_t, kMostOrder - 1> places_{};
  };
  /// Returns the history of a sentence's beginning: <s>.
  State sentence_begin() const;
  /// Returns log10 p of a word after `state`, and appends the word to `state`. kNone has the
  /// probability 0, -infinity, and leaves no history. Error, which names the file and the word: the
  /// probability is above 1, which back-off weights can make.
  double advance(State& state, int32_t word) const;

  /// Returns the natural log p of each word of a line and, last, of </s>; -infinity for a word that
  /// is not listed if the file has no <unk>.
  std::vector<double> score(std::string_view line) const;

 private:
  struct Level {
    std::vector<uint32_t> words;  // empty for unigrams, whose places are their words
    std::vector<float> log_p, backoff;
    std::vector<uint32_t> first;  // of each n-gram, the place of its first extension in the next
                                  // level; one more than n-grams
  };
  class Reader;
  uint32_t extension(int level, uint32_t place, uint32_t word) const;

  std::string path_;
  StringTable words_;
  std::vector<Level> levels_;
  int32_t begin_ = kNone, end_ = kNone, unknown_ = kNone;
};

}  // namespace nine
