#include "apps/lm_rescore/rescore_lattices.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "apps/cli/output_directory.h"
#include "apps/cli/progress.h"
#include "apps/cli/text_table.h"
#include "apps/lm_rescore/rescore_report.h"
#include "apps/lm_rescore/warn_of_lists.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/lattice_paths.h"
#include "data/measures/word_errors.h"
#include "data/unknown_words.h"
#include "nn/models/known_words.h"
#include "nn/models/lattice_rescoring.h"

namespace nine::app {
namespace {

std::vector<Lattice> read_all(const RescoreOptions& o) {
  std::vector<Lattice> lattices;
  std::set<std::string> names;
  int64_t removed = 0;
  for (const std::string& file : o.lattices)
    for (Lattice& lattice : read_lattices(file, {.format = o.lattice_format})) {
      // These characters would break the lines of a .trn file.
      require(lattice.utterance.find_first_of(" \t()") == std::string::npos, file,
              ": the utterance ", quote(lattice.utterance),
              " has a space or a parenthesis in its name");
      require(names.insert(lattice.utterance).second, file, ": the utterance ",
              quote(lattice.utterance), " has a lattice already");
      removed += lattice.removed;
      lattices.push_back(std::move(lattice));
    }
  if (removed > 0)
    std::fprintf(stderr,
                 "lm_rescore: links that are on no path from a lattice's start to an end, or have "
                 "a log zero as a score, left out: %lld\n",
                 static_cast<long long>(removed));
  return lattices;
}

// What a lattice became.
struct Rescored {
  std::string first, best;  // words
  std::string row;          // of lattices.tsv
};

// The first pass's path of each lattice.
std::vector<LatticePath> first_paths(const RescoreOptions& o, std::span<const Lattice> lattices) {
  std::vector<LatticePath> paths;
  for (const Lattice& lattice : lattices)
    paths.push_back(std::move(n_best_paths(lattice, o.scales_of(lattice), 1).at(0)));
  return paths;
}

// Says what does not fit: words of the first pass that the models do not know, and references.
// Error: too many unknown words (--max-unknown).
void check_first_pass(const RescoreOptions& o, std::span<const Lattice> lattices,
                      std::span<const LatticePath> paths, std::span<const std::string> references,
                      HistoryModel& model) {
  constexpr const char* kName = "--lattices, first pass";
  std::vector<NBestList> named;
  HeardTexts heard{.name = "--lattices", .of_utterance = {}};
  std::vector<std::string> texts;
  TokenCounts counts;
  for (size_t i = 0; i < lattices.size(); ++i) {
    texts.push_back(text_of(lattices[i], paths[i].words));
    named.push_back({.utterance = lattices[i].utterance, .hypotheses = {}});
    heard.of_utterance.push_back({texts.back()});
    model.start(lattices[i]);
    counts.tokens += std::ssize(paths[i].words) + 1;
    counts.unknown += std::ranges::count_if(paths[i].words,
                                            [&](const int32_t word) { return !model.knows(word); });
  }
  require_known(o.checkpoint, texts, o.max_unknown, kName);
  require_known(counts, o.max_unknown, kName,
                o.checkpoint.size() == 1 ? concat("the model ", o.checkpoint[0]) : "the models");
  if (counts.unknown > 0)
    std::fprintf(stderr, "lm_rescore: %s: %lld of %lld tokens are unknown to %s (%s%%)\n", kName,
                 static_cast<long long>(counts.unknown), static_cast<long long>(counts.tokens),
                 o.checkpoint.size() == 1 ? o.checkpoint[0].c_str() : "all models",
                 percent_text(counts.unknown, counts.tokens).c_str());
  print_warning(partly_known_warning(o.checkpoint, texts, kName));
  if (!references.empty())
    print_warning(reference_warning(heard, {.name = heard.name,
                                            .references_name = o.reference,
                                            .lists = named,
                                            .references = references}));
}

Rescored rescore(const RescoreOptions& o, const Lattice& lattice, const LatticePath& first,
                 HistoryModel& model) {
  const LatticeScales scales = o.scales_of(lattice);
  Rescored result{.first = text_of(lattice, first.words), .best = {}, .row = {}};
  const auto best = rescore_lattice(
      lattice, model,
      {.scales = scales, .lambda = o.lambda, .mu = o.mu, .history = o.lattice_history});
  if (!best)
    std::fprintf(stderr,
                 "lm_rescore: the models exclude every path of the lattice of %s: its words are "
                 "the first pass's\n",
                 lattice.utterance.c_str());
  result.best = best ? text_of(lattice, best->words) : result.first;
  result.row = concat(lattice.utterance, '\t', lattice.nodes, '\t', lattice.links.size());
  for (const int64_t count : {best ? best->hypotheses : 0, best ? best->states : 0})
    result.row += concat('\t', count);
  for (const double number : {first.score, best ? best->first_pass : first.score,
                              best ? best->log_p : -INFINITY, best ? best->score : -INFINITY})
    result.row += '\t' + shortest(number);
  result.row += '\n';
  return result;
}

std::string trn_line(const std::string& words, const std::string& utterance) {
  return concat(words, words.empty() ? "" : " ", "(", utterance, ")\n");
}

std::string lists_text(std::span<const NBestList> lists) {
  std::string text;
  for (const NBestList& list : lists)
    for (const NBestHypothesis& h : list.hypotheses)
      text += concat(list.utterance, '\t', shortest(h.score), '\t', h.words, '\n');
  return text;
}

void require_free(const RescoreOptions& o) {
  require_own_results(o);
  require_output_files("--output", o.output, kLatticeFiles);
  for (const char* name : kLatticeFiles)
    require(
        !std::filesystem::exists(o.file(name)) || std::filesystem::exists(o.file("results.json")),
        "--output ", o.output, " has a ", name,
        " that lm_rescore did not write there, as no results.json tells of it: move it "
        "elsewhere, or give another --output");
}

// The word errors of the first pass and of the rescored words.
void print_errors(const std::vector<std::string>& references, const std::vector<Rescored>& results,
                  Json& json) {
  std::vector<std::vector<std::string>> table{
      {"", "words", "errors", "WER, %", "sub", "del", "ins"}};
  const auto add = [&](const char* name, const char* key, std::string Rescored::*words) {
    WordErrors sum;
    for (size_t i = 0; i < results.size(); ++i)
      sum += count_word_errors(references[i], results[i].*words);
    table.push_back({name, concat(sum.words()), concat(sum.errors()),
                     percent_text(sum.errors(), sum.words()), concat(sum.substitutions),
                     concat(sum.deletions), concat(sum.insertions)});
    json[key] = {{"words", sum.words()}, {"errors", sum.errors()}};
  };
  add("first pass", "first_pass", &Rescored::first);
  add("rescored", "rescored", &Rescored::best);
  std::fputs(text_table(table).c_str(), stdout);
}

}  // namespace

void rescore_lattices(const RescoreOptions& o, Device device) {
  require_free(o);
  std::vector<Lattice> lattices = read_all(o);
  std::vector<std::string> references;
  if (!o.reference.empty()) {
    std::vector<NBestList> named;
    for (const Lattice& lattice : lattices) named.push_back({lattice.utterance, {}});
    references =
        texts_of(named, read_transcripts(o.reference, o.format_of(o.reference)), o.reference);
  }
  std::vector<NBestList> lists;
  if (o.lattice_nbest > 0) {
    for (Lattice& lattice : lattices) lattice.scales = o.scales_of(lattice);
    lists = n_best_lists(lattices, o.lattice_nbest, o.allow_empty);
  }
  const auto model = open_history_models(o.checkpoint, o.scoring(device).weights, device);
  const std::vector<LatticePath> first_pass = first_paths(o, lattices);
  check_first_pass(o, lattices, first_pass, references, *model);
  Progress progress("rescore", "lattices");
  std::vector<Rescored> results;
  for (const Lattice& lattice : lattices) {
    results.push_back(rescore(o, lattice, first_pass[results.size()], *model));
    progress.update(std::ssize(results), std::ssize(lattices));
  }
  progress.finish();
  Json json{{"nbest", nullptr},
            {"lattices", o.lattices},
            {"models", o.checkpoint},
            {"lambda", o.lambda},
            {"mu", o.mu},
            {"history", o.lattice_history}};
  if (!references.empty()) print_errors(references, results, json);
  std::string hyp, first, ref,
      table =
          "utterance\tnodes\tlinks\thypotheses\tstates\tbest.first_pass\tfirst_pass\tlog_"
          "p\ttotal\n";
  for (size_t i = 0; i < lattices.size(); ++i) {
    hyp += trn_line(results[i].best, lattices[i].utterance);
    first += trn_line(results[i].first, lattices[i].utterance);
    if (!references.empty()) ref += trn_line(references[i], lattices[i].utterance);
    table += results[i].row;
  }
  make_output_directory("--output", o.output);
  atomic_write_text(o.file("results.json"), json_text(json, 2) + '\n');
  atomic_write_text(o.file("hyp.trn"), hyp);
  atomic_write_text(o.file("first.trn"), first);
  if (!references.empty()) atomic_write_text(o.file("ref.trn"), ref);
  atomic_write_text(o.file("lattices.tsv"), table);
  if (!lists.empty()) atomic_write_text(o.file("nbest.tsv"), lists_text(lists));
}

}  // namespace nine::app
