#include "apps/bpe/bpe_options.h"

#include <algorithm>
#include <filesystem>

#include "apps/cli/text_io.h"
#include "core/error.h"

namespace nine::app {

void BpeFlags::declare(Options& o, const std::string& command) {
  const bool learns = command == "learn", applies = command == "apply";
  o.add("input", input, "text, one sentence a line; -: standard input").unit("FILE...");
  o.add("output", output,
        learns ? "where the codes go; -: standard output"
               : "one file for each input; -: standard output")
      .unit("FILE...");
  if (command != "undo")
    o.add("tokenize", tokenize,
          "none: words are separated by spaces; 13a: raw text, cut as sacreBLEU does")
        .choices({"none", "13a"});
  if (learns) {
    o.add("merges", merges, "pairs of symbols to merge").at_least(0);
    o.add("min-frequency", min_frequency, "stop when no pair occurs as often").at_least(1);
    o.add("total-symbols", total_symbols,
          "--merges counts the characters too: so many merges fewer");
    o.add("dict-input", dict_input, "the input's lines are `word count`");
    o.add("write-vocabulary", write_vocabulary, "also cut each input and write its vocabulary here")
        .unit("FILE...");
  }
  if (applies) {
    o.add("codes", codes, "what bpe learn or subword-nmt learn-bpe wrote").unit("FILE").required();
    o.add("merges", first_merges, "use so many of the codes; -1: all").at_least(-1);
    o.add("vocabulary", vocabulary,
          "use only subwords that this vocabulary has (bpe vocab, or fairseq's dict.txt)")
        .unit("FILE");
    o.add("vocabulary-threshold", vocabulary_threshold, "and only those that occur so often")
        .at_least(0);
    o.add("glossaries", glossaries, "words or regular expressions to keep whole").unit("TEXT...");
    o.add("dropout", dropout, "leave out each possible merge with this probability").range(0, 1);
    o.add("seed", seed, "of the dropout, the same numbers as in subword-nmt");
  }
  if (command == "vocab")
    o.add("format", format, "order of equal counts: subword-nmt's or fairseq's")
        .choices({"subword-nmt", "fairseq"});
  if (command != "vocab")
    o.add("separator", separator, "ends a subword that does not end its word").unit("TEXT");
  if (learns || applies)
    o.add("num-workers", num_workers,
          "threads; the output does not depend on it; -1: all physical cores")
        .range(-1, 4096);
}

void BpeFlags::check(const std::string& command) const {
  const auto refuse_if = [](bool wrong, const auto&... parts) {
    if (wrong) throw UsageError(concat(parts...));
  };
  const bool joins =
      command == "learn" || command == "vocab";  // several inputs may make one output
  refuse_if(output.size() != input.size() && !(joins && output.size() == 1), "--output names ",
            output.size(), " files for ", input.size(), " of --input: name one for each",
            joins ? ", or one for all" : "");
  refuse_if(command == "learn" && output.size() != 1, "--output names ", output.size(),
            " files: the codes go to one");
  refuse_if(std::count(input.begin(), input.end(), "-") > 1, "--input names standard input twice");
  refuse_if(separator.empty() || separator.find(' ') != std::string::npos, "--separator '",
            separator, "' must be a text without spaces");
  refuse_if(dict_input && tokenize != "none",
            "--dict-input holds words and counts, not text: leave out --tokenize");
  if (!write_vocabulary.empty()) {
    refuse_if(dict_input,
              "--write-vocabulary needs text, and --dict-input is none: make the vocabulary with "
              "bpe apply and bpe vocab");
    refuse_if(write_vocabulary.size() != input.size(), "--write-vocabulary names ",
              write_vocabulary.size(), " files for ", input.size(), " of --input");
    std::error_code ignored;
    for (const std::string& path : input)
      refuse_if(path == "-" || (std::filesystem::exists(path, ignored) &&
                                !std::filesystem::is_regular_file(path, ignored)),
                "--write-vocabulary reads the input twice, which ", input_name(path),
                " does not allow: give a file");
  }
  refuse_if(command == "apply" && vocabulary.empty() && vocabulary_threshold > 0,
            "--vocabulary-threshold needs --vocabulary");
  refuse_if(command == "apply" && dropout == 0 && seed != BpeFlags().seed,
            "--seed is for --dropout: leave it out, or give both");
  const auto named = [](const char* flag, const std::vector<std::string>& paths) {
    std::vector<NamedFile> all;
    for (const std::string& path : paths) all.push_back({flag, path});
    return all;
  };
  std::vector<NamedFile> written = named("--output", output), read = named("--input", input);
  for (NamedFile& file : named("--write-vocabulary", write_vocabulary))
    written.push_back(std::move(file));
  if (!codes.empty()) read.push_back({"--codes", codes});
  if (!vocabulary.empty()) read.push_back({"--vocabulary", vocabulary});
  check_outputs(written, read);
}

}  // namespace nine::app
