#include "apps/lm_score/lm_restrict.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/progress.h"
#include "apps/cli/text_io.h"
#include "apps/cli/text_table.h"
#include "core/error.h"
#include "core/json.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/measures/significance.h"
#include "nn/models/restricted_prediction.h"

namespace nine::app {
namespace {

using Choices = std::vector<RestrictedChoice>;

// A line of the table: a set, all of them, or words of similar frequency.
struct Row {
  std::string name;
  const WordSet* set = nullptr;  // none: of several sets
  Choices a, b;                  // b: of the second model, where there is one
  RestrictedComparison result;
  double p_holm = 1;
};

std::string words_of(const WordSet& set) {
  std::string text;
  for (const std::string& word : set.words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The choices of one model, with the progress of reading the text.
Choices choices_of(const LanguageModel& model, const std::string& name,
                   std::span<const std::string> lines, std::span<const WordSet> sets,
                   int64_t batch_tokens, Communicator& communicator) {
  Progress progress("score " + name, "sentences");
  Choices choices = restricted_choices(
      model, lines, sets, batch_tokens,
      [&](int64_t done) { progress.update(done, std::ssize(lines)); }, communicator);
  progress.finish();
  return choices;
}

// Powers of ten: 0 below 10, 1 below 100, ...
int magnitude(int64_t count) {
  int m = 0;
  for (; count >= 10; count /= 10) ++m;
  return m;
}

std::string magnitude_name(int m) {
  const std::string zeros(static_cast<size_t>(m), '0');
  return m == 0 ? "seen below 10 times"
                : concat("seen 1", zeros, " to ", std::string(m + 1, '9'), " times");
}

// Rows of the sets, of all, and of words of similar frequency in training.
std::vector<Row> rows_of(std::span<const WordSet> sets, const Choices& a, const Choices& b) {
  std::vector<Row> rows;
  for (const WordSet& set : sets) rows.push_back({.name = words_of(set), .set = &set});
  rows.push_back({.name = "all sets", .a = a, .b = b});
  std::map<int, Row> strata;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto set = static_cast<size_t>(a[i].set);
    const int m = magnitude(sets[set].counts[static_cast<size_t>(a[i].word)]);
    Row& stratum = strata[m];
    stratum.name = magnitude_name(m);
    for (Row* row : {&rows[set], &stratum}) {
      row->a.push_back(a[i]);
      if (!b.empty()) row->b.push_back(b[i]);
    }
  }
  for (auto& [m, row] : strata) rows.push_back(std::move(row));
  return rows;
}

void measure(std::vector<Row>& rows, bool two, const BootstrapOptions& bootstrap) {
  std::vector<double> p;
  for (Row& row : rows) {
    if (two)
      row.result = compare_choices(row.a, row.b, bootstrap);
    else
      row.result.a = measure_choices(row.a, bootstrap);
    if (row.set != nullptr) p.push_back(row.result.p);
  }
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < adjusted.size(); ++i) rows[i].p_holm = adjusted[i];
}

std::string estimate(const Estimate& e, int decimals, double factor = 1) {
  return concat(fixed(factor * e.value, decimals), " [", fixed(factor * e.interval.low, decimals),
                ", ", fixed(factor * e.interval.high, decimals), "]");
}

std::string one_model_table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells{
      {"set", "positions", "sentences", "accuracy, %", "cross-entropy, nats", "margin, nats"}};
  for (const Row& row : rows) {
    const RestrictedMeasures& m = row.result.a;
    if (m.positions == 0)
      cells.push_back({row.name, "0", "0", "-", "-", "-"});
    else
      cells.push_back({row.name, concat(m.positions), concat(m.sentences),
                       estimate(m.accuracy, 1, 100), estimate(m.cross_entropy, 3),
                       estimate(m.margin, 3)});
  }
  return text_table(cells);
}

std::string two_models_table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells{{"set", "positions", "right A, %", "right B, %",
                                               "only A", "only B", "p", "p (Holm)", "nats A",
                                               "nats B", "nats B - A"}};
  for (const Row& row : rows) {
    const RestrictedComparison& c = row.result;
    if (c.a.positions == 0) {
      cells.push_back({row.name, "0", "-", "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    cells.push_back({row.name, concat(c.a.positions), fixed(100 * c.a.accuracy.value, 1),
                     fixed(100 * c.b.accuracy.value, 1), concat(c.only_a), concat(c.only_b),
                     p_text(c.p), row.set != nullptr ? p_text(row.p_holm) : "",
                     fixed(c.a.cross_entropy.value, 3), fixed(c.b.cross_entropy.value, 3),
                     estimate(c.cross_entropy, 3)});
  }
  return text_table(cells);
}

Json json_of(const Estimate& e) {
  return {{"value", e.value}, {"interval", {e.interval.low, e.interval.high}}};
}

// Of no position there is no estimate: null.
Json json_of(const RestrictedMeasures& m) {
  if (m.positions == 0)
    return {{"accuracy", nullptr}, {"cross_entropy", nullptr}, {"margin", nullptr}};
  return {{"accuracy", json_of(m.accuracy)},
          {"cross_entropy", json_of(m.cross_entropy)},
          {"margin", json_of(m.margin)}};
}

Json json_of(const Row& row, bool two) {
  const RestrictedComparison& c = row.result;
  Json j = {{"positions", c.a.positions}, {"sentences", c.a.sentences}};
  if (row.set != nullptr) {
    j["words"] = row.set->words;
    j["counts"] = row.set->counts;
  } else {
    j["of"] = row.name;
  }
  j[two ? "a" : "model"] = json_of(c.a);
  if (!two) return j;
  j["b"] = json_of(c.b);
  j["only_a"] = c.only_a;
  j["only_b"] = c.only_b;
  const bool any = c.a.positions > 0;
  j["mcnemar_p"] = any ? Json(c.p) : Json();
  if (row.set != nullptr) j["holm_p"] = any ? Json(row.p_holm) : Json();
  j["cross_entropy_b_minus_a"] = any ? json_of(c.cross_entropy) : Json();
  return j;
}

std::string as_json(const std::vector<std::string>& checkpoints, size_t sentences,
                    const std::vector<Row>& rows, const RestrictOptions& o) {
  const bool two = checkpoints.size() == 2;
  Json j = {{"models", checkpoints},
            {"sentences", sentences},
            {"resamples", o.bootstrap.resamples},
            {"seed", o.bootstrap.seed},
            {"unit", "sentence"},
            {"interval", "95% percentile bootstrap"}};
  Json sets = Json::array(), together = Json::array();
  for (const Row& row : rows) (row.set != nullptr ? sets : together).push_back(json_of(row, two));
  if (two) j["tests"] = {{"name", "exact McNemar"}, {"count", sets.size()}, {"correction", "Holm"}};
  j["sets"] = std::move(sets);
  j["together"] = std::move(together);
  return json_text(j, 2) + '\n';
}

std::string explained(const std::vector<std::string>& checkpoints, size_t sentences,
                      const std::vector<Row>& rows, const RestrictOptions& o) {
  const bool two = checkpoints.size() == 2;
  const auto sets = static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.set != nullptr; }));
  std::string text = two ? concat("# A: ", checkpoints[0], "\n# B: ", checkpoints[1], "\n")
                         : concat("# model: ", checkpoints[0], "\n");
  text += concat("# ", sentences,
                 " sentences; in brackets 95% intervals: bootstrap over the "
                 "sentences that have a position, ",
                 o.bootstrap.resamples, " resamples, seed ", o.bootstrap.seed, "\n");
  if (two)
    text += concat("# p: exact McNemar, two-sided; Holm over the ", sets,
                   " sets; the rows below them are not in that family\n");
  return text;
}

// A line for each choice, with numbers that read back to the same double.
std::string choices_table(std::span<const WordSet> sets, const std::vector<Choices>& models) {
  std::string text = "line\tword\tset\tright\tcount";
  for (const char* suffix : models.size() == 2 ? std::vector{"_a", "_b"} : std::vector{""})
    for (const char* column : {"chosen", "nats", "margin"}) text += concat('\t', column, suffix);
  text += '\n';
  for (size_t i = 0; i < models[0].size(); ++i) {
    const RestrictedChoice& at = models[0][i];
    const WordSet& set = sets[static_cast<size_t>(at.set)];
    const auto right = static_cast<size_t>(at.word);
    text += concat(at.sentence + 1, '\t', at.token + 1, '\t', at.set + 1, '\t', set.words[right],
                   '\t', set.counts[right]);
    for (const Choices& model : models) {
      const RestrictedChoice& c = model[i];
      text += concat('\t', set.words[static_cast<size_t>(c.chosen)], '\t', shortest(c.nats), '\t',
                     shortest(c.margin));
    }
    text += '\n';
  }
  return text;
}

void name_unknown(const std::vector<std::string>& unknown, size_t models) {
  if (unknown.empty()) return;
  std::string text;
  for (const std::string& word : unknown) text += (text.empty() ? "" : " ") + word;
  std::fprintf(stderr, "lm_score: left out of the sets, not in the vocabulary%s: %s%s\n",
               models == 2 ? " of both models" : "", shortened(text).c_str(),
               shortened(text) == text ? "" : concat(" (", unknown.size(), " words)").c_str());
}

}  // namespace

void write_restricted(const std::vector<std::string>& checkpoints,
                      std::span<const std::string> lines, const RestrictOptions& options,
                      std::ostream& out, Communicator& communicator) {
  std::vector<WordSet> sets =
      parse_word_sets(read_lines(options.sets, communicator), input_name(options.sets));
  std::vector<Choices> choices;
  {
    std::vector<LanguageModel> models;
    std::vector<const Vocabulary*> vocabularies;
    for (const std::string& path : checkpoints)
      models.push_back(LanguageModel::load(path, options.device));
    for (const LanguageModel& model : models) vocabularies.push_back(&model.vocabulary());
    const auto unknown = drop_unknown_words(sets, vocabularies, input_name(options.sets));
    if (communicator.first()) name_unknown(unknown, models.size());
    for (WordSet& set : sets)
      if (set.counts.empty())
        for (const std::string& word : set.words)
          set.counts.push_back(vocabularies[0]->count(vocabularies[0]->id(word)));
    for (size_t m = 0; m < models.size(); ++m)
      choices.push_back(
          choices_of(models[m], checkpoints[m], lines, sets, options.batch_tokens, communicator));
  }
  require(!choices[0].empty(), "the text has no word of the sets");
  if (options.choices) {
    out << choices_table(sets, choices);
    return;
  }
  const bool two = checkpoints.size() == 2;
  std::vector<Row> rows = rows_of(sets, choices[0], two ? choices[1] : Choices());
  measure(rows, two, options.bootstrap);
  if (options.json)
    out << as_json(checkpoints, lines.size(), rows, options);
  else
    out << explained(checkpoints, lines.size(), rows, options)
        << (two ? two_models_table(rows) : one_model_table(rows));
}

}  // namespace nine::app
