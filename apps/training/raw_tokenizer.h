// The tokenizer of a training on raw text: read from a file, or learned from the training text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "apps/cli/options.h"
#include "data/tokenizers/model_tokenizer.h"

namespace nine::app {

/// The most entries of a vocabulary that is learned without --vocab-size, and the fewest
/// occurrences of a pair of symbols that is then merged: a rarer token would hardly be trained.
inline constexpr int64_t kRawVocabulary = 8192, kRawMinFrequency = 20;

/// The options of the tokenizer, without --vocab-size, which a trainer has for words too.
struct RawTokenizerOptions {
  std::string tokenizer, normalize = "none";

  /// Declares --tokenizer and --normalize. `raw` is the flag that gives the raw text.
  void declare(Options& options, const std::string& raw);
  /// Checks the flags for a run that reads raw text, or for another run, which has no use for them.
  /// Throws UsageError.
  void check(const Options& given, bool is_raw, const char* raw, int64_t vocab_size,
             const Specials& specials) const;
  /// Reads the tokenizer, or learns byte-level BPE with GPT-4's split from `texts`. `vocab_size`
  /// are the entries of the dictionary, special words included; 0: those that kRawVocabulary and
  /// kRawMinFrequency give. Errors: those of ModelTokenizer::of_file(); `name`, the training text,
  /// is too small for vocab_size.
  ModelTokenizer make(std::span<const std::string_view> texts, const std::string& name,
                      int64_t vocab_size, const Specials& specials) const;
};

}  // namespace nine::app
