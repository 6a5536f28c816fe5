// The options of bpe's commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/shared/options.h"

namespace nine::app {

struct BpeFlags {
  std::vector<std::string> input{"-"}, output{"-"};
  std::string tokenize = "none";
  int num_workers = -1;  // 0 and below: all cores
  std::string separator = "@@";

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
  /// Refuses what does not go together.
  void check(const std::string& command) const;
};

}  // namespace nine::app
