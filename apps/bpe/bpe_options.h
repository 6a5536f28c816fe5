// The options of bpe's commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/options.h"
#include "data/bpe.h"
#include "data/detokenize.h"
#include "data/tokenizers/split_pattern.h"

namespace nine::app {

/// A number of bytes, written as 500M or 2G; 0 is written as "all".
struct MemoryBound {
  int64_t bytes = 0;
};
std::string to_text(const MemoryBound& bound);

template <>
struct TextForm<MemoryBound> {
  static constexpr const char* kPlaceholder = "SIZE";
  static constexpr const char* kValid = "a size such as 500M or 2G, or all";
  static std::vector<std::string> choices() { return {}; }
  static MemoryBound from_text(std::string_view text);  // throws Error
};

/// The text of `bpe --help`.
inline constexpr const char* kBpeHelp =
    "Cuts words into subwords by byte pair encoding (BPE). The files have the format\n"
    "of subword-nmt 0.3; with --bytes or --tokenizer, of Hugging Face tokenizers.\n\n"
    "usage: bpe COMMAND [options]\n\n"
    "Commands:\n"
    "  learn                       bpe learn --merges 10000 --input train.de train.en\n"
    "                              --output codes\n"
    "                              bpe learn --bytes --vocab-size 32000 --input book.txt\n"
    "                              --output tokenizer.json\n"
    "  apply                       bpe apply --codes codes --input test.de --output\n"
    "                              test.bpe.de\n"
    "  undo                        bpe undo --input test.bpe.de --output test.de\n"
    "  vocab                       bpe vocab --input test.bpe.de --output vocab.de\n"
    "  convert                     bpe convert --tokenizer tokenizer.model --output\n"
    "                              tokenizer.json\n\n"
    "General:\n"
    "  -h, --help                  prints this page; bpe COMMAND --help: the options of\n"
    "                              a command\n"
    "  --version                   prints the version\n"
    "  --completion TEXT           prints a script for this shell that completes\n"
    "                              command lines (bash)\n\n"
    "By default, --input is standard input and --output is standard output.";

/// The values of the flags of all commands. Each value has the name of its flag, except
/// `first_merges`, which is --merges of `bpe apply`, `file_format`, which is --format of `bpe
/// learn` and `bpe convert`, and `pieces`, which is --format of `bpe apply` and `bpe undo`.
struct BpeFlags {
  std::vector<std::string> input{"-"}, output{"-"};
  std::string tokenize = "none";
  int num_workers = -1;  // 0 or less: all cores
  std::string separator{kBpeSeparator};
  bool flush = false;  // of apply and undo

  // learn
  int64_t merges = 10000, min_frequency = 2;
  bool total_symbols = false, dict_input = false;
  std::vector<std::string> write_vocabulary;

  // learn --bytes, convert
  bool bytes = false;
  int64_t vocab_size = 32'000;
  Split split = Split::gpt4;
  std::string normalize = "none";
  std::vector<std::string> special_tokens{"<|endoftext|>"};
  std::string file_format = "json";
  MemoryBound memory;
  std::string temporary_folder;

  // apply and undo with a tokenizer, convert
  std::string tokenizer, pieces = "ids";
  bool split_given = false;
  bool of_ranks = false;  // true if options of tiktoken's ranks were given
  bool special_from_text = false, add_special = false, keep_special = false;

  // undo
  DetokenizeOptions detokenize;

  // apply
  std::string codes, vocabulary;
  int64_t first_merges = -1, vocabulary_threshold = 0;
  double dropout = 0;
  uint64_t seed = 1;
  std::vector<std::string> glossaries;

  // vocab
  std::string format = "subword-nmt";

  /// Declares the options of `command`: learn, apply, undo, vocab or convert.
  void declare(Options& options, const std::string& command);
  /// Throws UsageError for options of `command` that contradict each other.
  void check(const std::string& command) const;
  /// Throws UsageError for options of `command` that have no effect beside the others.
  void check_idle(const Options& options, const std::string& command) const;
  /// Sets `flush` of `command`, whose default depends on where the program was started, and
  /// `split_given` and `of_ranks`.
  void resolve(const Options& options, const std::string& command);

 private:
  void declare_tokenizer(Options& options);
  void check_write_vocabulary() const;
};

}  // namespace nine::app
