#include "apps/lm_rescore/rescore_report.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/cli/output_directory.h"
#include "apps/cli/text_io.h"
#include "apps/cli/text_table.h"
#include "apps/lm_rescore/warn_of_lists.h"
#include "core/files.h"
#include "core/json.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/bpe.h"
#include "data/measures/bleu.h"
#include "data/measures/compare_errors.h"
#include "data/text.h"

namespace nine::app {
namespace {

using Texts = std::vector<std::string>;

std::vector<Edit> aligned(const std::string& reference, const std::string& hypothesis) {
  std::vector<std::string_view> r, h;
  split_words(reference, r);
  split_words(hypothesis, h);
  return align_words(r, h);
}

// The list's hypothesis with the fewest errors; of equal ones the first.
WordErrors oracle_errors(const RescoredLists& r) {
  WordErrors sum;
  for (size_t i = 0; i < r.lists.size(); ++i) {
    std::optional<WordErrors> best;
    for (const NBestHypothesis& h : r.lists[i].hypotheses) {
      const WordErrors own = count_word_errors(r.references[i], h.words);
      if (!best || own.errors() < best->errors()) best = own;
    }
    sum += *best;
  }
  return sum;
}

// The group of each utterance, numbered in the order of first appearance.
std::vector<size_t> groups_of(const RescoreOptions& o, const RescoredLists& r) {
  std::map<std::string, size_t> numbers;
  std::vector<size_t> groups;
  const bool before = o.group_by.starts_with("before:"), each = o.group_by == "utterance";
  const Texts file =
      o.groups_by_file() ? texts_of(r.lists, read_transcripts(o.group_by), o.group_by) : Texts();
  for (size_t i = 0; i < r.lists.size(); ++i) {
    std::string group = each ? r.lists[i].utterance : before ? "" : file[i];
    if (before) {
      const size_t end = r.lists[i].utterance.find(o.group_by.substr(7));
      require(o.group_by.size() > 7 && end != std::string::npos, "--group-by ", o.group_by,
              ": the utterance ", quote(r.lists[i].utterance),
              " does not have this text in its name");
      group = r.lists[i].utterance.substr(0, end);
    }
    groups.push_back(numbers.emplace(group, numbers.size()).first->second);
  }
  return groups;
}

std::string trn(const RescoredLists& r, const Texts& texts) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i)
    out += concat(texts[i], texts[i].empty() ? "" : " ", "(", r.lists[i].utterance, ")\n");
  return out;
}

// Transcripts that --reference and --baseline of another run read.
std::string choices_text(const RescoredLists& r, const Texts& texts) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i)
    out += concat(r.lists[i].utterance, "\t", texts[i], "\n");
  return out;
}

// Everything that is reported.
struct Results {
  Texts first, rescored;      // words of each utterance
  std::string compared_name;  // Comparison::name
  RescoringWeights weights;
  const Choices* choices = nullptr;
  int64_t words = 0;                    // of the choices, with --confidences
  std::optional<double> cross_entropy;  // of their confidences
  // WER:
  std::vector<UtteranceErrors> utterances;  // a: compared, b: rescored
  WordErrors first_errors, oracle;
  ErrorComparison comparison;
  // BLEU:
  BleuScore first_bleu, rescored_bleu;
};

Results results_of(const RescoreOptions& o, const RescoredLists& r, const Comparison& compared,
                   const Choices& c) {
  Results x{.compared_name = compared.name, .weights = c.weights, .choices = &c};
  x.first = r.first_pass();
  x.rescored = r.texts(c.chosen);
  if (!o.has_reference()) return x;
  if (o.confidences) {
    const std::vector<ScoredWord> words = scored_words(r, c);
    x.words = std::ssize(words);
    x.cross_entropy = normalised_cross_entropy(words);
  }
  if (o.measure == RescoringMeasure::bleu) {
    const BleuOptions how{.tokenizer = BleuTokenizer::none};
    x.first_bleu = corpus_bleu(x.first, r.references, how);
    x.rescored_bleu = corpus_bleu(x.rescored, r.references, how);
    return x;
  }
  for (size_t i = 0; i < r.lists.size(); ++i) {
    x.utterances.push_back(
        {aligned(r.references[i], compared.words[i]), aligned(r.references[i], x.rescored[i])});
    x.first_errors += count_word_errors(r.references[i], x.first[i]);
  }
  x.oracle = oracle_errors(r);
  x.comparison =
      compare_errors(x.utterances, compared.groups, {.resamples = o.resamples, .seed = o.seed});
  return x;
}

std::string utterance_table(const RescoredLists& r, const Results& x) {
  std::string out =
      "utterance\twords\tcompared.sub\tcompared.del\tcompared.ins\trescored.sub\trescored.del\t"
      "rescored.ins\n";
  for (size_t i = 0; i < r.lists.size(); ++i) {
    const WordErrors a = count_errors(x.utterances[i].a), b = count_errors(x.utterances[i].b);
    out += concat(r.lists[i].utterance, "\t", a.words(), "\t", a.substitutions, "\t", a.deletions,
                  "\t", a.insertions, "\t", b.substitutions, "\t", b.deletions, "\t", b.insertions,
                  "\n");
  }
  return out;
}

std::string confidence_table(const RescoredLists& r, const Choices& c) {
  std::string out = "utterance\tplace\tword\tconfidence\n";
  for (size_t i = 0; i < r.lists.size(); ++i) {
    std::vector<std::string_view> words;
    split_words(r.lists[i].hypotheses[c.chosen[i]].words, words);
    for (size_t k = 0; k < words.size(); ++k)
      out += concat(r.lists[i].utterance, "\t", k + 1, "\t", words[k], "\t", c.confidences[i][k],
                    "\n");
  }
  return out;
}

// The chosen words with their times, and confidences if there are any. Empty if a choice has no
// times.
std::string ctm(const RescoredLists& r, const Choices& c) {
  std::string out;
  for (size_t i = 0; i < r.lists.size(); ++i) {
    const NBestHypothesis& h = r.lists[i].hypotheses[c.chosen[i]];
    std::vector<std::string_view> words;
    split_words(h.words, words);
    if (h.times.size() != words.size()) return "";
    for (size_t k = 0; k < words.size(); ++k)
      out += concat(r.lists[i].utterance, " 1 ", fixed(h.times[k].begin, 3), " ",
                    fixed(h.times[k].end - h.times[k].begin, 3), " ", words[k],
                    c.confidences.empty() ? "" : " " + shortest(c.confidences[i][k]), "\n");
  }
  return out;
}

std::string interval(const Interval& i, int decimals) {
  return concat("[", fixed(i.low, decimals), ", ", fixed(i.high, decimals), "]");
}

std::vector<std::string> row(const std::string& name, const WordErrors& e, const std::string& ci) {
  return {name, concat(e.words()),       concat(e.errors()),  percent_text(e.errors(), e.words()),
          ci,   concat(e.substitutions), concat(e.deletions), concat(e.insertions)};
}

std::string unit_of(const RescoreOptions& o, const ErrorComparison& c) {
  return concat(c.groups,
                o.group_by == "utterance" ? " utterances" : " groups (" + o.group_by + ")");
}

// What the set can decide, or why there is no telling.
std::string margin_text(const RescoreOptions& o, const ErrorComparison& c) {
  if (c.groups == 1) return "# one utterance has no intervals: they are drawn from two or more\n";
  if (!c.has_draws())
    return concat(
        "# one of ", unit_of(o, c),
        " has words in its reference, so that there are no intervals: they are drawn from "
        "two or more\n");
  if (!c.has_margin())
    return concat("# the difference is the same in each draw from ", unit_of(o, c),
                  ", which does not tell up to which margin the set can decide\n");
  return concat("# with this set the same WER can be shown up to +-", fixed(c.decidable, 2),
                " points at 5% with a power of 80% (", unit_of(o, c), "); ",
                fixed(c.decidable_independent, 2), " were segments independent (discordance ",
                fixed(100 * c.discordance, 1), "%)\n");
}

std::string wer_text(const RescoreOptions& o, const Results& x) {
  const ErrorComparison& c = x.comparison;
  std::vector<std::vector<std::string>> table{
      {"", "words", "errors", "WER, %", "95% interval", "sub", "del", "ins"}};
  const bool first = o.baseline.empty(), draws = c.has_draws();
  const auto drawn = [&](const Interval& i) { return draws ? interval(i, 1) : ""; };
  table.push_back(row("first pass", x.first_errors, first ? drawn(c.rate_a) : ""));
  if (!first) table.push_back(row(x.compared_name, c.a, drawn(c.rate_a)));
  table.push_back(row("rescored", c.b, drawn(c.rate_b)));
  table.push_back(row("oracle", x.oracle, ""));
  const Mapsswe& m = c.mapsswe;
  std::string text = margin_text(o, c);
  text += text_table(table);
  text +=
      concat("difference: rescored - ", x.compared_name, " = ", fixed(c.difference, 2), " points");
  if (draws)
    text += concat(", 95% interval ", interval(c.difference_95, 2), ", bootstrap over ",
                   unit_of(o, c), ", ", o.resamples, " resamples, seed ", o.seed);
  text += "\n";
  if (c.drawn_again > 0)
    text += concat("draws without a word of a reference, left out and drawn again: ", c.drawn_again,
                   "\n");
  if (m.segments == 0)
    text += "MAPSSWE: no segments, as neither has an error: there is nothing to test\n";
  else if (m.segments == 1)
    text +=
        concat("MAPSSWE: 1 segment, difference ", fixed(m.mean, 3), ": a test needs two or more\n");
  else
    text += concat("MAPSSWE: ", m.segments, " segments, mean ", fixed(m.mean, 3), ", deviation ",
                   fixed(m.deviation, 3), ", Z ", fixed(m.z, 3), ", p ", p_text(m.p),
                   " (one test, two-sided)\n");
  if (o.margin_wer > 0)
    text += concat("TOST at 5%, margin ", shortest(o.margin_wer), " points: 90% interval ",
                   interval(c.difference_90, 2),
                   c.equivalent(o.margin_wer) ? " lies inside: the same WER up to the margin\n"
                                              : " does not lie inside: not shown to be the same\n");
  return text;
}

Json json_of(const WordErrors& e) {
  return {{"words", e.words()},       {"errors", e.errors()},
          {"wer", e.rate()},          {"substitutions", e.substitutions},
          {"deletions", e.deletions}, {"insertions", e.insertions}};
}

Json json_of(const Interval& i) { return {i.low, i.high}; }

void add_wer(const RescoreOptions& o, const Results& x, Json& j) {
  const ErrorComparison& c = x.comparison;
  const auto drawn = [&](const Json& value) { return c.has_draws() ? value : Json(nullptr); };
  j["first_pass"] = json_of(x.first_errors);
  j["compared"] = json_of(c.a);
  j["compared"]["name"] = x.compared_name;
  j["compared"]["interval"] = drawn(json_of(c.rate_a));
  j["rescored"] = json_of(c.b);
  j["rescored"]["interval"] = drawn(json_of(c.rate_b));
  j["oracle"] = json_of(x.oracle);
  j["difference"] = {{"points", c.difference},
                     {"interval_95", drawn(json_of(c.difference_95))},
                     {"interval_90", drawn(json_of(c.difference_90))},
                     {"standard_error", drawn(c.standard_error)},
                     {"unit", o.group_by},
                     {"units", c.groups},
                     {"resamples", o.resamples},
                     {"drawn_again", c.drawn_again},
                     {"seed", o.seed}};
  const auto tested = [&](double value) {
    return c.mapsswe.segments < 2 ? Json(nullptr) : Json(value);
  };
  j["mapsswe"] = {{"segments", c.mapsswe.segments},
                  {"mean", c.mapsswe.mean},
                  {"deviation", tested(c.mapsswe.deviation)},
                  {"z", tested(c.mapsswe.z)},
                  {"p", tested(c.mapsswe.p)}};
  j["power"] = {{"level", 0.05},
                {"power", 0.8},
                {"margin", c.has_margin() ? Json(c.decidable) : Json(nullptr)},
                {"margin_independent_segments",
                 c.discordance > 0 ? Json(c.decidable_independent) : Json(nullptr)},
                {"discordance", c.discordance}};
  if (o.margin_wer > 0)
    j["tost"] = {{"margin", o.margin_wer}, {"equivalent", c.equivalent(o.margin_wer)}};
}

Json as_json(const RescoreOptions& o, const RescoredLists& r, const Results& x) {
  Json j = {{"nbest", o.nbest},
            {"models", o.checkpoint},
            {"interpolation", to_text(o.interpolate)},
            {"first_pass_scores", r.score_names},
            {"first_weights", x.weights.first},
            {"lambda", x.weights.lambda},
            {"mu", x.weights.mu},
            {"weight_flags", weight_flags(x.weights)},
            {"tuned_on", o.tune_nbest},
            {"utterances", r.lists.size()},
            {"hypotheses", r.hypotheses()},
            {"distinct_hypotheses", r.model.distinct},
            {"tokens", r.model.tokens},
            {"unknown_tokens", r.model.unknown},
            {"lists_out_of_order", r.out_of_order()},
            {"log_zero_scores", r.impossible.log_zeros},
            {"excluded_hypotheses", r.impossible.excluded}};
  if (o.needs_posteriors()) {
    j["choice"] = to_text(o.choice);
    j["scale"] = x.choices->how.scale;
  }
  if (o.choice == Choice::mbr) j["expected_errors"] = x.choices->expected_errors;
  if (!o.has_reference()) return j;
  if (o.confidences) {
    j["confidence_map"] = {x.choices->how.map.low, x.choices->how.map.high};
    j["confident_words"] = x.words;
    j["normalised_cross_entropy"] = x.cross_entropy ? Json(*x.cross_entropy) : Json(nullptr);
  }
  if (o.measure == RescoringMeasure::wer)
    add_wer(o, x, j);
  else
    j["bleu"] = {{"first_pass", x.first_bleu.score},
                 {"rescored", x.rescored_bleu.score},
                 {"signature", x.rescored_bleu.signature}};
  return j;
}

// Of several first-pass scores; nothing for one with the weight 1.
std::string first_weights_text(const RescoredLists& r, const RescoringWeights& w) {
  if (w.first.empty() || w.first == std::vector<double>{1}) return "";
  std::string text;
  for (size_t k = 0; k < w.first.size(); ++k)
    text +=
        concat(text.empty() ? "# first pass: " : ", ", r.score_names[k], " ", fixed(w.first[k], 3));
  return text + "\n";
}

// Nothing unless an option needs posteriors.
std::string posterior_text(const RescoreOptions& o, const Results& x) {
  if (!o.needs_posteriors()) return "";
  const PosteriorSettings& how = x.choices->how;
  std::string text = concat("# posteriors with --scale ", how.scale);
  if (o.confidences) text += concat(" --confidence-map ", how.map.low, " ", how.map.high);
  if (how.tuned) text += ", tuned on " + o.tune_nbest;
  if (o.choice == Choice::mbr)
    text += concat("; choice by expected errors: ", fixed(x.choices->expected_errors, 1));
  if (o.confidences && o.has_reference())
    text += concat("\n# normalised cross-entropy of the confidences of ", x.words, " words: ",
                   x.cross_entropy ? fixed(*x.cross_entropy, 3)
                                   : "none, because all are right or all are wrong");
  return text + "\n";
}

std::string changed_text(const Results& x) {
  size_t changed = 0;
  for (size_t i = 0; i < x.first.size(); ++i) changed += x.first[i] != x.rescored[i] ? 1 : 0;
  return concat("other words than the first pass: ", changed, " of ", x.first.size(),
                " utterances; without --reference no errors are counted\n");
}

std::string as_text(const RescoreOptions& o, const RescoredLists& r, const Results& x) {
  std::string models;
  for (const std::string& model : o.checkpoint) models += (models.empty() ? "" : ", ") + model;
  std::string text =
      concat("# ", o.nbest, ": ", r.lists.size(), " utterances, ", r.hypotheses(), " hypotheses; ",
             models, o.checkpoint.size() > 1 ? concat(", ", to_text(o.interpolate)) : "", "\n");
  text += first_weights_text(r, x.weights);
  text += concat("# lambda ", fixed(x.weights.lambda, 3), ", mu ", fixed(x.weights.mu, 3),
                 o.tunes() ? ", tuned on " + o.tune_nbest : "", "\n");
  if (o.tunes()) text += "# the same weights by hand: " + weight_flags(x.weights) + "\n";
  text += posterior_text(o, x);
  if (!o.has_reference()) return text + changed_text(x);
  if (o.measure == RescoringMeasure::wer) return text + wer_text(o, x);
  return concat(text, "first pass: ", x.first_bleu.text(), "\nrescored: ", x.rescored_bleu.text(),
                "\n");
}

void remove_file(const std::string& file) {
  std::error_code error;
  std::filesystem::remove(file, error);
  require(!error, "cannot remove ", file, ": ", error.message());
}

// Writes references and table, or takes away those of an earlier rescoring: they would pass for
// this one's.
void write_utterances(const RescoreOptions& o, const RescoredLists& r, const Results& x) {
  if (o.has_reference())
    atomic_write_text(o.file("ref.trn"), trn(r, r.references));
  else
    remove_file(o.file("ref.trn"));
  if (o.has_reference() && o.measure == RescoringMeasure::wer)
    atomic_write_text(o.file("utterances.tsv"), utterance_table(r, x));
  else
    remove_file(o.file("utterances.tsv"));
  if (const std::string text = ctm(r, *x.choices); !text.empty())
    atomic_write_text(o.file("hyp.ctm"), text);
  else
    remove_file(o.file("hyp.ctm"));
  if (o.confidences)
    atomic_write_text(o.file("confidences.tsv"), confidence_table(r, *x.choices));
  else
    remove_file(o.file("confidences.tsv"));
}

// As of --nbest's hypotheses. Error: texts without words, unless --allow-empty. Warns of texts that
// do not fit the references.
void check_baseline(const RescoreOptions& o, const RescoredLists& lists, const Texts& words) {
  const auto empty = std::ranges::count(words, "");
  if (empty > 0 && !o.allow_empty) {
    const size_t first = static_cast<size_t>(std::ranges::find(words, "") - words.begin());
    fail("--baseline ", o.baseline, ": ", empty, " of ", words.size(),
         " utterances have no words, ", quote(lists.lists[first].utterance),
         " first; give --allow-empty if this is silence");
  }
  if (words == lists.references)
    print_warning(concat("the words of --baseline ", o.baseline,
                         " are those of the reference: it has no errors to compare with"));
  HeardTexts heard{.name = "--baseline " + o.baseline, .of_utterance = {}};
  for (const std::string& text : words) heard.of_utterance.push_back({text});
  print_warning(reference_warning(heard, lists.named(o.reference)));
  print_warning(subword_warning(words, heard.name, lists.references, o.reference));
}

}  // namespace

Comparison read_comparison(const RescoreOptions& o, const RescoredLists& lists) {
  if (o.measure == RescoringMeasure::bleu || !o.has_reference()) return {};
  Comparison c{.name = "first pass", .words = lists.first_pass(), .groups = groups_of(o, lists)};
  if (!o.baseline.empty()) {
    c.name = o.baseline;
    c.words = texts_of(lists.lists, read_trn(o.baseline), o.baseline);
    check_baseline(o, lists, c.words);
  }
  require(std::ranges::any_of(lists.references, [](const auto& words) { return !words.empty(); }),
          o.reference, " has no words: give the reference transcripts");
  const bool one = lists.lists.size() == 1;
  require(one || std::ranges::max(c.groups) > 0, kOneGroup);
  require(!one || o.margin_wer == 0, o.nbest,
          " has one utterance, but --margin-wer needs two or more to draw from: leave out "
          "--margin-wer");
  std::set<size_t> with_words;
  for (size_t i = 0; i < lists.references.size(); ++i)
    if (!lists.references[i].empty()) with_words.insert(c.groups[i]);
  require(with_words.size() > 1 || o.margin_wer == 0, o.reference,
          " has words in one utterance or group, but --margin-wer needs two or more to draw from: "
          "leave out --margin-wer");
  warn_of_groups(o, lists, c.groups);
  return c;
}

void require_own_results(const RescoreOptions& o) {
  if (!o.output_nbest.empty() && !is_device_or_pipe(o.output_nbest))
    const TextOutput writable(o.output_nbest);
  if (o.output.empty()) return;
  require_output_directory("--output", o.output);
  require_no_run("--output", o.output);
  require_output_files("--output", o.output, kResultFiles);
  std::error_code ignored;
  Json results;
  if (const std::string file = o.file("results.json"); std::filesystem::exists(file, ignored))
    results = parse_json_object(read_text(file));
  if (results.contains("nbest") && results.contains("models")) return;  // of an earlier rescoring
  for (const char* name : kResultFiles)
    require(!std::filesystem::exists(o.file(name), ignored), "--output ", o.output, " has a ", name,
            " that lm_rescore did not write there, as no results.json tells of it: move it "
            "elsewhere, or give another --output");
}

void report_rescoring(const RescoreOptions& options, const RescoredLists& lists,
                      const Comparison& comparison, const Choices& choices) {
  const Results x = results_of(options, lists, comparison, choices);
  const std::string json = json_text(as_json(options, lists, x), 2) + '\n';
  if (!options.output.empty()) {
    make_output_directory("--output", options.output);
    // First, as it tells the next rescoring that these files are lm_rescore's.
    atomic_write_text(options.file("results.json"), json);
    atomic_write_text(options.file("hyp.trn"), trn(lists, x.rescored));
    atomic_write_text(options.file("first.trn"), trn(lists, x.first));
    write_utterances(options, lists, x);
  }
  const bool prints_choices = options.output.empty() && !options.has_reference();
  std::fputs(options.json     ? json.c_str()
             : prints_choices ? choices_text(lists, x.rescored).c_str()
                              : as_text(options, lists, x).c_str(),
             stdout);
}

}  // namespace nine::app
