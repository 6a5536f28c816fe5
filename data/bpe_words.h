// The words of a text as sequences of symbols, which the merges of byte pair encoding shorten. Both
// ways of learning use it: subword-nmt's (data/bpe_learn.h) and the exact way (data/bpe_merges.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// Words, one after another in one array. A word keeps the space of its first length.
class BpeWords {
 public:
  /// Appends a symbol to the newest word.
  void add_symbol(int32_t symbol) { flat_.push_back(symbol); }
  /// Ends the newest word.
  void end_word() {
    const size_t begin = begins_.back();
    lengths_.push_back(static_cast<int32_t>(flat_.size() - begin));
    begins_.push_back(flat_.size());
  }
  int32_t size() const { return static_cast<int32_t>(lengths_.size()); }
  int32_t length(int32_t word) const { return lengths_[static_cast<size_t>(word)]; }
  std::span<int32_t> symbols(int32_t word) {
    return {flat_.data() + begins_[static_cast<size_t>(word)], static_cast<size_t>(length(word))};
  }
  /// Makes a word the first `length` of its symbols.
  void shorten(int32_t word, size_t length) {
    lengths_[static_cast<size_t>(word)] = static_cast<int32_t>(length);
  }

 private:
  std::vector<int32_t> flat_;
  std::vector<size_t> begins_{0};  // of the words, and of the next one
  std::vector<int32_t> lengths_;
};

}  // namespace nine
