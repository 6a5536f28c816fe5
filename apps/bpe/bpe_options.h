// The options of bpe's commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "data/bpe.h"

namespace nine::app {

/// What `bpe --help` prints.
inline constexpr const char* kBpeHelp =
    "bpe: byte pair encoding, files as of subword-nmt 0.3\n"
    "  bpe learn --merges 10000 --input train.de train.en --output codes\n"
    "  bpe apply --codes codes --input test.de --output test.bpe.de\n"
    "  bpe undo  --input test.bpe.de --output test.de\n"
    "  bpe vocab --input test.bpe.de --output vocab.de\n\n"
    "Input and output default to the standard ones. `bpe COMMAND --help` lists a command's "
    "options.";

/// The values of the flags of all commands; each has the name of its flag, but `first_merges` is
/// --merges of `bpe apply`.
struct BpeFlags {
  std::vector<std::string> input{"-"}, output{"-"};
  std::string tokenize = "none";
  int num_workers = -1;  // 0 and below: all cores
  std::string separator{kBpeSeparator};

  // learn
  int64_t merges = 10000, min_frequency = 2;
  bool total_symbols = false, dict_input = false;
  std::vector<std::string> write_vocabulary;

  // apply
  std::string codes, vocabulary;
  int64_t first_merges = -1, vocabulary_threshold = 0;
  double dropout = 0;
  uint64_t seed = 1;
  std::vector<std::string> glossaries;

  // vocab
  std::string format = "subword-nmt";

  /// Declares the options of `command`: learn, apply, undo or vocab.
  void declare(Options& options, const std::string& command);
  /// Throws UsageError for options of `command` that contradict each other.
  void check(const std::string& command) const;

 private:
  void check_write_vocabulary() const;
};

}  // namespace nine::app
