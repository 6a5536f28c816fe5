// nine_report RUN... [--output FILE]: the report page of one or several runs; nine_report --words
// CHECKPOINT: a model's word vectors.
#include <cstdio>
#include <filesystem>

#include "apps/cli/machine.h"
#include "apps/cli/model_files.h"
#include "apps/cli/options.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/report/report.h"
#include "apps/report/word_page.h"
#include "nn/models/model_directory.h"

namespace nine::app {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string output, words;
  bool differences = false;
  WordPageSettings page;
  int threads = 0;

  void declare(Options& o) {
    o.add_positional("RUN", runs,
                     "run directories, those that hold log.jsonl; several are compared");
    o.add("output", output, "the page to write")
        .unit("FILE")
        .default_text("RUN/report.html, ./report.html for several runs, ./words.html with --words");
    o.add("differences", differences,
          "two language models: score their validation text and show the words on which they "
          "differ most");
    add_threads(o, threads);
    o.group("Word vectors");
    o.add("words", words, "instead of runs: a model's word vectors in two dimensions")
        .unit("CHECKPOINT");
    o.add("most-frequent", page.words, "so many words").range(10, 5000).unit("words");
    o.add("perplexity", page.perplexity,
          "t-SNE: about so many neighbours count; at most a third of the words")
        .range(2, 500);
    o.add("iterations", page.iterations, "t-SNE: steps").range(1, 100000);
    o.add("seed", page.seed, "where the search for principal components starts");
  }

  void check(const Options& given) const {
    if (words.empty() == runs.empty())
      throw UsageError("give run directories, or a model with --words CHECKPOINT");
    if (differences && runs.size() != 2)
      throw UsageError("--differences compares two runs; give two");
    std::vector<NamedFile> read;
    for (const std::string& directory : words.empty() ? runs : std::vector<std::string>{words})
      add_model_files(read, "a file of the run", directory);
    check_outputs({{"--output", page_file()}}, read);
    if (!words.empty()) return;
    for (const char* flag : {"most-frequent", "perplexity", "iterations", "seed"})
      if (given.was_set(flag))
        throw UsageError(concat("--", flag, " does something with --words only"));
  }

  std::string page_file() const {
    if (!output.empty()) return output;
    if (!words.empty()) return "words.html";
    return runs.size() == 1 ? (std::filesystem::path(runs.front()) / "report.html").string()
                            : "report.html";
  }
};

int write_page(const ReportOptions& o) {
  const std::string file = o.page_file();
  if (o.words.empty()) {
    write_report({o.runs.begin(), o.runs.end()}, file, o.differences);
  } else {
    write_word_page(model_directory(o.words, kDictionaryFile), o.words, o.page, file);
  }
  std::printf("wrote %s\n", file.c_str());
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("nine_report", [&] {
    Options options("nine_report",
                    "Writes one HTML page: figures, curves and settings of runs, or the word "
                    "vectors of a model.",
                    version_text);
    ReportOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machine({.threads = o.threads}, [&](nine::Device) { return write_page(o); });
  });
}
