// The tokenizer of a training on raw text: read from a file, or learned from the training text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/options.h"
#include "data/tokenizers/model_tokenizer.h"
#include "data/tokenizers/train_tokenizer.h"

namespace nine::app {

/// The most entries of a vocabulary that is learned without --vocab-size, and the fewest
/// occurrences of a pair of symbols that is then merged: a rarer token would hardly be trained.
inline constexpr int64_t kRawVocabulary = 8192, kRawMinFrequency = 20;

/// The options of the tokenizer, without --vocab-size, which a trainer has for words too.
struct RawTokenizerOptions {
  std::string tokenizer, normalize = "none", split;
  std::vector<std::string> special_tokens = TokenizerFileOptions().special_tokens;

  /// Declares --tokenizer, --normalize, --split and --special-tokens. `raw` is the flag that gives
  /// the raw text.
  void declare(Options& options, const std::string& raw);
  /// Checks the flags for a run that reads raw text, or for another run, which has no use for them.
  /// `reads_file`: --tokenizer or a flag like it was given.
  /// Throws UsageError.
  void check(const Options& given, bool is_raw, bool reads_file, const std::string& raw,
             int64_t vocab_size, const Specials& specials) const;
  /// Reads a tokenizer's file. Errors: those of ModelTokenizer::of_file().
  ModelTokenizer read(const std::string& file, const Specials& specials) const;
  /// Reads the tokenizer, or learns it from `texts`, as training() and learned() do. Errors: those
  /// of ModelTokenizer::of_file() and of learned().
  ModelTokenizer make(std::span<const std::string_view> texts, const std::string& name,
                      int64_t vocab_size, const Specials& specials) const;
  /// Returns the settings of a tokenizer that is learned: byte-level BPE with GPT-4's split.
  /// `vocab_size` are the entries of the dictionary, special words included; 0: those that
  /// kRawVocabulary and kRawMinFrequency give.
  TokenizerTraining training(int64_t vocab_size, const Specials& specials) const;
};

/// Learns the tokenizer of a model from the texts of `trainer`. Error: `name`, the training text,
/// is too small for vocab_size.
ModelTokenizer learned(const TokenizerTrainer& trainer, const std::string& name, int64_t vocab_size,
                       const Specials& specials);

}  // namespace nine::app
