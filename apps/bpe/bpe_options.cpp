#include "apps/bpe/bpe_options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "apps/cli/detokenize_options.h"
#include "apps/cli/line_input.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/text_io.h"
#include "core/error.h"
#include "core/files.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine::app {
namespace {

void add_named(std::vector<NamedFile>& files, const char* flag,
               const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (!path.empty()) files.push_back({flag, path});
}

// Whether a line of input has a line of output.
bool answers_lines(const std::string& command) { return command == "apply" || command == "undo"; }

// Whether a file is a stream, which can be read only once.
bool is_read_once(const std::string& path) { return path == "-" || is_device_or_pipe(path); }

constexpr std::string_view kUnits = "KMGT";  // powers of 1,024

}  // namespace

std::string to_text(const MemoryBound& bound) {
  if (bound.bytes == 0) return "all";
  int64_t number = bound.bytes;
  size_t unit = 0;
  for (; unit < kUnits.size() && number % 1024 == 0; ++unit) number /= 1024;
  return concat(number, unit == 0 ? "" : kUnits.substr(unit - 1, 1));
}

MemoryBound TextForm<MemoryBound>::from_text(std::string_view text) {
  if (text == "all") return {};
  const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  std::string_view digits = text;
  if (unit != std::string_view::npos) digits.remove_suffix(1);
  const int shift = unit == std::string_view::npos ? 0 : 10 * (static_cast<int>(unit) + 1);
  int64_t number = 0;
  require(parse_count(digits, number) && number > 0 &&
              number <= std::numeric_limits<int64_t>::max() >> shift,
          quote(text), " is not a size such as 500M or 2G, nor 'all'");
  return {number << shift};
}

void BpeFlags::declare_tokenizer(Options& o) {
  o.add("tokenizer", tokenizer,
        "tokenizer.json, vocab.json, tiktoken's ranks, SentencePiece's model, or a folder")
      .unit("FILE");
  o.add("split", split, "split of tiktoken's ranks, whose file has none");
  o.add("special-tokens", special_tokens,
        "special tokens of tiktoken's ranks; TEXT=ID gives the id too")
      .unit("TEXT...");
}

void BpeFlags::declare(Options& o, const std::string& command) {
  const bool learns = command == "learn", applies = command == "apply",
             converts = command == "convert";
  if (converts) {
    declare_tokenizer(o);
    o.add("output", output, "file for the tokenizer; -: standard output").unit("FILE");
    o.add("format", file_format, "write tokenizer.json, or tiktoken's ranks")
        .choices({"json", "tiktoken"});
    return;
  }
  o.add("input", input, "text, one sentence a line; -: standard input").unit("FILE...");
  o.add("output", output,
        learns ? "file for the codes; -: standard output"
               : "one file for each input; -: standard output")
      .unit("FILE...");
  if (answers_lines(command)) add_flush(o, flush);
  if (command != "undo")
    o.add("tokenize", tokenize,
          "how the input is split into words: none, at spaces; 13a, as sacreBLEU splits raw text")
        .choices({"none", "13a"});
  if (learns) {
    o.add("merges", merges, "number of merges to learn").at_least(0);
    o.add("min-frequency", min_frequency, "stop when no pair of symbols occurs this often")
        .at_least(1);
    o.add("total-symbols", total_symbols,
          "subtract the number of different characters from --merges, as subword-nmt does");
    o.add("dict-input", dict_input, "the input is a list of words with one `word count` per line");
    o.add("write-vocabulary", write_vocabulary,
          "also cut each input with the codes and write its vocabulary to this file; one file for "
          "each input")
        .unit("FILE...");
  }
  if (applies) {
    o.add("codes", codes, "codes from bpe learn or subword-nmt learn-bpe").unit("FILE");
    o.add("merges", first_merges, "use only the first N codes; -1: all").at_least(-1);
    o.add("vocabulary", vocabulary,
          "use only subwords of this vocabulary: a file of bpe vocab, or fairseq's dict.txt")
        .unit("FILE");
    o.add("vocabulary-threshold", vocabulary_threshold,
          "use only subwords that --vocabulary counts at least N times")
        .at_least(0);
    o.add("glossaries", glossaries,
          "words that are not cut, or regular expressions for these words")
        .unit("TEXT...");
    o.add("dropout", dropout, "skip each possible merge with this probability (BPE dropout)")
        .range(0, 1);
    o.add("seed", seed, "seed of --dropout; draws the same random numbers as subword-nmt");
  }
  if (command == "vocab")
    o.add("format", format,
          "order of subwords with equal counts: that of subword-nmt or of fairseq")
        .choices({"subword-nmt", "fairseq"});
  if (command != "vocab")
    o.add("separator", separator,
          "mark at the end of each subword that is not the last of its word")
        .unit("TEXT");
  if (command == "undo") declare_detokenize(o, detokenize, "words");
  if (learns || applies)
    o.add("num-workers", num_workers,
          "number of threads; the output does not depend on it; -1: OMP_NUM_THREADS if it is set, "
          "otherwise all physical cores")
        .range(-1, 4096);
  if (learns) {
    o.group("Tokenizers of bytes");
    o.add("bytes", bytes, "learn a tokenizer of bytes (tokenizer.json) from raw text, not codes");
    o.add("vocab-size", vocab_size, "tokens: special tokens, 256 bytes, and the results of merges")
        .range(256, 1 << 24);
    o.add("split", split, "how text is cut before it is merged: as by GPT-2, GPT-4 or Llama 3");
    o.add("normalize", normalize, "put text into this Unicode normal form first")
        .choices({"none", "nfc", "nfkc"});
    o.add("special-tokens", special_tokens, "special tokens, which get the first ids")
        .unit("TEXT...");
    o.add("format", file_format, "write tokenizer.json, or tiktoken's ranks")
        .choices({"json", "tiktoken"});
    o.add("memory", memory,
          "memory for the counts of pieces; further counts go to disk; the tokenizer does not "
          "depend on it");
    o.add("temporary-folder", temporary_folder,
          "folder for the counts on disk; default: TMPDIR or /tmp")
        .unit("DIR");
  }
  if (answers_lines(command)) {
    o.group("Tokenizers");
    declare_tokenizer(o);
    o.add("format", pieces, "lines of ids, or of tokens as the vocabulary spells them")
        .choices({"ids", "tokens"});
  }
  if (applies) {
    o.add("special-from-text", special_from_text,
          "a special token's spelling in the text becomes its id; otherwise it is text");
    o.add("add-special", add_special, "add the special tokens around each line, such as <s>");
  }
  if (command == "undo") o.add("keep-special", keep_special, "write special tokens too");
}

void BpeFlags::resolve(const Options& options, const std::string& command) {
  const bool reads_standard_input = std::find(input.begin(), input.end(), "-") != input.end();
  if (answers_lines(command)) flush = flushes(options, flush, reads_standard_input);
  if (!answers_lines(command) && command != "convert") return;
  split_given = options.was_set("split");
  of_ranks = split_given || options.was_set("special-tokens");
}

void BpeFlags::check_idle(const Options& options, const std::string& command) const {
  if (command == "learn") {
    only_with(
        options, !bytes, "codes, and --bytes learns a tokenizer",
        {"merges", "total_symbols", "dict_input", "write_vocabulary", "separator", "tokenize"});
    only_with(options, bytes, "--bytes",
              {"vocab_size", "split", "normalize", "special_tokens", "format", "memory"});
    only_with(options, memory.bytes > 0, "--memory", {"temporary_folder"});
  } else if (command == "convert") {
    require_usage(!tokenizer.empty(), "--tokenizer is required: the tokenizer to write");
  } else if (answers_lines(command)) {
    require_usage(command == "undo" || codes.empty() != tokenizer.empty(),
                  codes.empty()
                      ? "--codes or --tokenizer is required: codes from bpe learn, or a "
                        "tokenizer.json"
                      : "--codes and --tokenizer are two ways to cut a text: leave out one");
    if (command == "apply") {
      only_with(options, tokenizer.empty(), "--codes",
                {"merges", "vocabulary", "vocabulary_threshold", "glossaries", "dropout", "seed",
                 "separator", "tokenize"});
      only_with(options, !tokenizer.empty(), "--tokenizer", {"special_from_text", "add_special"});
    } else {
      only_with(options, tokenizer.empty(), "subwords, not for --tokenizer",
                {"separator", "detokenize"});
      check_detokenize(options, detokenize);
      only_with(options, !tokenizer.empty(), "--tokenizer", {"keep_special"});
    }
    only_with(options, !tokenizer.empty(), "--tokenizer", {"format", "split", "special_tokens"});
  }
}

void BpeFlags::check_write_vocabulary() const {
  if (write_vocabulary.empty()) return;
  require_usage(!dict_input,
                "--write-vocabulary needs text, but --dict-input is a list of words: make the "
                "vocabulary with bpe apply and bpe vocab");
  require_usage(write_vocabulary.size() == input.size(), "--write-vocabulary names ",
                write_vocabulary.size(), " files for ", input.size(), " files of --input");
  const auto prints = [](const std::vector<std::string>& files) {
    return std::find(files.begin(), files.end(), "-") != files.end();
  };
  require_usage(!prints(output) || !prints(write_vocabulary),
                "--output - and --write-vocabulary - would mix on standard output: give one of "
                "them a file");
  for (const std::string& path : input)
    require_usage(!is_read_once(path), "--write-vocabulary reads the input twice, which ",
                  input_name(path), " does not allow: give a file");
}

void BpeFlags::check(const std::string& command) const {
  const bool learns = command == "learn", applies = command == "apply";
  const bool joins = learns || command == "vocab";  // several inputs may make one output
  require_usage(output.size() == input.size() || (joins && output.size() == 1), "--output names ",
                output.size(), " files for ", input.size(), " files of --input: name one for each",
                joins ? ", or one file for all" : "");
  require_usage(!learns || output.size() == 1, "--output names ", output.size(),
                " files: name one file for the codes");
  require_usage(!separator.empty() && find_invalid_utf8(separator) == std::string_view::npos &&
                    std::none_of(separator.begin(), separator.end(),
                                 [](char c) { return c >= 0 && c <= ' '; }),
                "--separator '", separator,
                "' must be a text in UTF-8 without spaces, tabs and ends of lines");
  require_usage(!dict_input || tokenize == "none",
                "--dict-input holds words and counts, not text: leave out --tokenize");
  check_write_vocabulary();
  require_usage(!applies || !vocabulary.empty() || vocabulary_threshold == 0,
                "--vocabulary-threshold needs --vocabulary");
  require_usage(!applies || dropout != 0 || seed == BpeFlags().seed,
                "--seed is for --dropout: leave out --seed, or give both");
  std::vector<NamedFile> written, read;
  add_named(written, "--output", output);
  add_named(written, "--write-vocabulary", write_vocabulary);
  add_named(read, "--input", input);
  add_named(read, "--codes", {codes});
  add_named(read, "--vocabulary", {vocabulary});
  add_named(read, "--tokenizer", {tokenizer});
  check_outputs(written, read);
}

}  // namespace nine::app
