// nine_report RUN... [--output FILE]: the report page of one or several runs; nine_report --words
// CHECKPOINT: a model's word vectors; with --angles CHECKPOINTs' directions of word vectors.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "apps/cli/machine.h"
#include "apps/cli/model_files.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/options.h"
#include "apps/cli/progress.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/report/angles.h"
#include "apps/report/page.h"
#include "apps/report/report.h"
#include "apps/report/sections.h"
#include "apps/report/word_page.h"
#include "core/error.h"
#include "core/files.h"
#include "core/quote.h"
#include "nn/models/model_directory.h"
#include "nn/training/checkpoint.h"

namespace nine::app {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string output;
  std::vector<std::string> words, groups;
  bool differences = false, angles = false, json = false;
  int64_t permutations = 999;
  WordPageSettings page;
  int threads = 0;

  void declare(Options& o) {
    o.add_positional("RUN", runs,
                     "run directories, which hold log.jsonl; several runs are compared");
    o.add("output", output, "file for the page; -: standard output")
        .unit("FILE")
        .default_text(
            "RUN/report.html, ./report.html for several runs, ./words.html with --words, "
            "./angles.html with --angles");
    o.add("differences", differences,
          "for two runs of language models: score their validation text and show the words on "
          "which the models differ most");
    add_threads(o, threads);
    o.group("Word vectors");
    o.add("words", words, "show the word vectors of a model in two dimensions; replaces RUN")
        .unit("CHECKPOINT...");
    o.add("most-frequent", page.words,
          "number of words to show, the most frequent words of the vocabulary")
        .range(10, 5000)
        .unit("words");
    o.add("perplexity", page.perplexity,
          "t-SNE: about how many neighbours of a word count; at most a third of the words")
        .range(2, 500);
    o.add("iterations", page.iterations, "t-SNE: number of steps").range(1, 100000);
    o.add("seed", page.seed, "seed of the search for principal components and of --permutations");
    o.add("angles", angles,
          "show the directions of the word vectors and their statistics, for one model or several");
    o.add("group", groups,
          "with --angles: a group of words to show; a group whose NAME begins with syntactic is "
          "blue")
        .unit("NAME=WORD,WORD...");
    o.add("permutations", permutations,
          "with --angles: number of permutations in each test of two models")
        .range(1, 1e6);
    o.add("json", json, "with --angles: print the numbers as JSON and write no page");
  }

  void check(const Options& given) const {
    if (words.empty() && runs.empty())
      throw UsageError("give run directories, or a model with --words CHECKPOINT");
    if (!words.empty() && !runs.empty())
      throw UsageError("--words shows a model's words, not runs: leave out " + runs.front());
    if (differences && runs.size() != 2)
      throw UsageError("--differences compares two runs; give two");
    if (words.size() > 1 && !angles)
      throw UsageError("--words shows one model; give --angles to compare several models");
    if (angles && words.empty()) throw UsageError("--angles needs models: --words CHECKPOINT...");
    only_with(given, angles, "--angles", {"group", "permutations", "json"});
    only_with(given, !json, "the page, which --json does not write", {"group"});
    refuse_empty(given, {"output"});
    if (json && !output.empty()) throw UsageError("--json writes no page: leave out --output");
    angle_settings();
    std::vector<NamedFile> read;
    const std::vector<std::string>& all = words.empty() ? runs : words;
    std::set<std::filesystem::path> places;  // what is shown twice would count twice, too
    std::error_code ignored;
    for (const std::string& directory : all)
      require_usage(places.insert(std::filesystem::weakly_canonical(directory, ignored)).second,
                    directory, words.empty() ? " is a run" : " is a model",
                    " that is named twice: leave one of them out");
    refuse_copies();
    refuse_same_models("--words", words);
    for (const std::string& directory : runs) refuse_checkpoint(directory);
    for (const std::string& directory : all) add_model_files(read, "a file of the run", directory);
    check_outputs({{output.empty() ? "the page" : "--output", page_file()}}, read);
    require_format("--output", output, "an HTML page", ".html");
    if (output.empty() && !json) require_own_page(page_file());
    only_with(given, !words.empty(), "--words",
              {"most_frequent", "perplexity", "iterations", "seed"});
  }

  // A copy of a run counts twice, too, whatever its name: a run is its log.
  void refuse_copies() const {
    std::map<std::pair<uint64_t, uint32_t>, std::string> seen;
    for (const std::string& directory : runs) {
      const std::filesystem::path log = std::filesystem::path(directory) / "log.jsonl";
      std::error_code ignored;
      if (!std::filesystem::is_regular_file(log, ignored)) continue;  // said when it is read
      const FileDigest digest = digest_of_file(log);
      const auto [before, is_new] = seen.emplace(std::pair(digest.bytes, digest.crc32c), directory);
      require_usage(is_new || digest.bytes == 0, before->second, " and ", directory,
                    " are one run under two names (log.jsonl is the same): leave one of them out");
    }
  }

  // A checkpoint has no log: the page is about its run.
  static void refuse_checkpoint(const std::filesystem::path& directory) {
    std::error_code ignored;
    if (std::filesystem::exists(directory / "log.jsonl", ignored) || !holds_state(directory))
      return;
    const auto run = std::filesystem::weakly_canonical(directory / "x", ignored)
                         .parent_path()
                         .parent_path()
                         .parent_path();
    throw UsageError(concat(directory.string(),
                            " is a checkpoint, and a page is about a run: give ",
                            std::filesystem::exists(run / "log.jsonl", ignored)
                                ? run.string()
                                : "the run directory, which holds log.jsonl",
                            ", or --words ", directory.string(), " for the model's word vectors"));
  }

  std::string page_file() const {
    if (!output.empty()) return output;
    if (!words.empty()) return angles ? "angles.html" : "words.html";
    return runs.size() == 1 ? (std::filesystem::path(runs.front()) / "report.html").string()
                            : "report.html";
  }

  /// Where everything but the page is printed.
  std::FILE* messages() const { return page_file() == "-" ? stderr : stdout; }

  AngleSettings angle_settings() const {
    AngleSettings s{.words = page.words,
                    .perplexity = page.perplexity,
                    .iterations = page.iterations,
                    .permutations = permutations,
                    .seed = page.seed};
    for (const std::string& text : groups) s.groups.push_back(AngleGroup::parse(text));
    return s;
  }
};

int said_written(const ReportOptions& o) {
  if (o.page_file() != "-") std::printf("wrote %s\n", o.page_file().c_str());
  return kExitDone;
}

// Words of --group that a picture lacks. Error: one that all pictures lack.
void say_missing(const std::vector<ModelAngles>& models, const AngleSettings& settings) {
  for (const AngleGroup& group : settings.groups)
    for (const std::string& word : group.words) {
      std::vector<std::string> without;
      for (const ModelAngles& m : models)
        if (std::find(m.words.words.begin(), m.words.words.end(), word) == m.words.words.end())
          without.push_back(m.model);
      const std::string lacking =
          concat(quote(word), " of the group ", quote(group.name), " is not among the ",
                 settings.words, " ", models[0].words.chosen());
      require(without.size() < models.size(), "--group: ", lacking, " of ",
              models.size() == 1 ? models[0].model : "any model",
              ": check its spelling, or raise --most-frequent");
      for (const std::string& model : without)
        std::fprintf(stderr, "nine_report: %s of %s\n", lacking.c_str(), model.c_str());
    }
}

int write_angles(const ReportOptions& o) {
  const AngleSettings settings = o.angle_settings();
  std::vector<ModelAngles> models;
  Progress progress("angles", "models");
  for (const std::string& model : o.words) {
    models.push_back(measure_angles(model_directory(model, kDictionaryFile), model, settings));
    progress.update(std::ssize(models), std::ssize(o.words));
  }
  progress.finish();
  say_missing(models, settings);
  const AngleStudy study = study_angles(std::move(models), settings);
  if (o.json) {
    std::printf("%s\n", json_text(angles_json(study, settings), 2).c_str());
    return kExitDone;
  }
  write_angle_page(study, settings, o.page_file());
  std::fputs(angles_text(study, settings).c_str(), o.messages());
  return said_written(o);
}

int write_page(const ReportOptions& o) {
  if (o.angles) return write_angles(o);
  const std::string file = o.page_file();
  if (o.words.empty()) {
    for (const std::string& note : write_report({o.runs.begin(), o.runs.end()}, file,
                                                o.differences ? &word_differences_html : nullptr))
      std::fprintf(stderr, "nine_report: %s\n", note.c_str());
  } else {
    write_word_page(model_directory(o.words[0], kDictionaryFile), o.words[0], o.page, file);
  }
  return said_written(o);
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("nine_report", [&] {
    Options options("nine_report",
                    "Writes one HTML page with the figures, curves and settings of runs, or with "
                    "the word vectors of a model.",
                    version_text);
    ReportOptions o;
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machine({.threads = o.threads}, [&](nine::Device) { return write_page(o); });
  });
}
