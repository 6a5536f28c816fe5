// Learning a byte-level tokenizer from text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/bpe_merges.h"
#include "data/tokenizers/split_pattern.h"
#include "data/tokenizers/tokenizer.h"
#include "data/tokenizers/unicode_forms.h"
#include "data/word_counts.h"

namespace nine {

class CountRuns;
class TextReader;

/// The tokens that every learned tokenizer has: the bytes.
inline constexpr int64_t kFewestTokens = 256;

/// Settings of a tokenizer that is learned.
struct TokenizerTraining {
  int64_t vocabulary_size = 32'000;  ///< ids: special tokens, 256 bytes, and results of merges
  Split split = Split::gpt4;
  std::optional<UnicodeForm> form;  ///< texts are put into this form first; nullopt: they are not
  int64_t min_frequency = 2;        ///< a pair of symbols that occurs fewer times is not merged
  std::vector<std::string> special_tokens{"<|endoftext|>"};  ///< they get the first ids
  /// Bytes of memory for counts of pieces. Beyond them, counts are kept in a temporary file in
  /// `temporary_folder`. 0: no bound. The tokenizer does not depend on it.
  int64_t memory = 0;
  std::string temporary_folder{};  ///< empty: the system's, TMPDIR or /tmp
};

/// Counts the pieces of texts, and learns a tokenizer from the counts. The tokenizer does not
/// depend on the number of threads.
class TokenizerTrainer {
 public:
  /// Errors: a vocabulary with no room for the special tokens and the bytes; a special token of
  /// fewer than two bytes, not UTF-8 or there twice; a form without utf8proc; with a bound of
  /// memory, a temporary folder that takes no files.
  explicit TokenizerTrainer(const TokenizerTraining& how);

  /// Adds a text. No piece crosses its ends.
  void add(std::string_view text);
  /// Adds the lines of a text, each with its LF, on all threads. The reader must have been made
  /// with the rules kCopiedText or kRawText, which keep all bytes. Errors: those of the reader; a
  /// full disk. No installed header defines TextReader, so that only Nine's own programs can call
  /// this; other programs add() the lines.
  void add(TextReader& text);
  /// Adds pieces that are counted already, such as those of another trainer.
  void add(const WordCounts& pieces);
  /// Returns the counts in memory: all of them if memory has no bound.
  const WordCounts& pieces() const { return pieces_; }

  /// Learns the tokenizer. A text that is too short for vocabulary_size gives fewer ids. Error: a
  /// special token has the spelling of a learned token.
  std::unique_ptr<Tokenizer> train() const&;
  /// As above, but gives back the memory of the counts when they are read, before the merges are
  /// learned.
  std::unique_ptr<Tokenizer> train() &&;

 private:
  class Counter;
  std::unique_ptr<Tokenizer> train(const CountedWords& counted) const;
  bool over(const WordCounts& pieces, int64_t shares) const;
  void keep_bound();

  TokenizerTraining how_;
  std::shared_ptr<const Counter> counter_;
  WordCounts pieces_;
  std::shared_ptr<CountRuns> runs_;  // null: memory has no bound
};

}  // namespace nine
