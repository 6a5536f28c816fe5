#include "apps/lm_rescore/rescore.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>

#include "apps/cli/progress.h"
#include "apps/lm_rescore/warn_of_lists.h"
#include "core/number_format.h"
#include "data/ngram_model.h"
#include "data/spelled_specials.h"
#include "data/text.h"
#include "data/unknown_words.h"
#include "nn/models/model_directory.h"
#include "nn/models/word_mixture.h"

namespace nine::app {
namespace {

void explain_unknown(const RescoreOptions& o, const RescoredLists& lists) {
  const bool ngrams =
      std::any_of(o.checkpoint.begin(), o.checkpoint.end(), is_ngram_file);  // another rule
  for (size_t m = 0; m < o.checkpoint.size(); ++m)
    if (const int64_t unknown = lists.model.unknown[m]; unknown > 0)
      std::fprintf(
          stderr,
          "lm_rescore: %s, all different hypotheses: %lld of %lld tokens are unknown to %s (%s%%); "
          "each has the probability of <unk>%s\n",
          lists.file.c_str(), static_cast<long long>(unknown),
          static_cast<long long>(lists.model.tokens), o.checkpoint[m].c_str(),
          fixed(100.0 * static_cast<double>(unknown) / static_cast<double>(lists.model.tokens), 2)
              .c_str(),
          ngrams ? ", or 0 if another model knows it" : "");
}

void explain_spelled_specials(const RescoredLists& lists) {
  SpelledSpecials spelled(Specials::kLanguageModel);
  for (const NBestList& list : lists.lists)
    for (const NBestHypothesis& h : list.hypotheses) spelled.add_line(h.words);
  say_spelled_specials(spelled, lists.file, "lm_rescore");
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void explain_impossible(const RescoredLists& lists, int64_t count, const std::string& why) {
  if (count > 0)
    std::fprintf(stderr, "lm_rescore: %s: hypotheses that cannot be chosen: %lld, %s\n",
                 lists.file.c_str(), static_cast<long long>(count), why.c_str());
}

}  // namespace

std::vector<std::string> RescoredLists::texts(std::span<const size_t> chosen) const {
  return chosen_texts(lists, chosen);
}

int64_t RescoredLists::out_of_order() const {
  return std::ranges::count_if(first_choices(lists), [](size_t place) { return place != 0; });
}

RescoredLists read_lists(const RescoreOptions& o, const std::string& nbest,
                         const std::string& reference) {
  NBestFile file = read_n_best_file(nbest, o.lists());
  RescoredLists r{.file = nbest};
  r.score_names = std::move(file.scores);
  r.lists = std::move(file.lists);
  const size_t scores = r.score_names.size() + o.ngram_scores.size();
  require(o.first_weights.empty() || o.first_weights.size() == scores, "--first-weights gives ",
          o.first_weights.size(), " numbers for the ", scores, " first-pass scores of ", nbest,
          o.ngram_scores.empty() ? "" : " and --ngram-scores", ": give one for each");
  if (!reference.empty())
    r.references =
        texts_of(r.lists, read_transcripts(reference, o.format_of(reference)), reference);
  for (const NBestList& list : r.lists)
    r.impossible.log_zeros += std::ranges::count_if(
        list.hypotheses, [](const NBestHypothesis& h) { return std::isinf(h.score); });
  explain_impossible(r, r.impossible.log_zeros,
                     o.nbest_cost ? "whose costs, inf or 1e10 and above, are those of log zeros"
                                  : "whose scores, -inf or -1e10 and below, are log zeros");
  return r;
}

void add_ngram_scores(const RescoreOptions& o, std::span<RescoredLists* const> all) {
  for (size_t m = 0; m < o.ngram_scores.size(); ++m) {
    const NGramModel model = NGramModel::read(o.ngram_scores[m]);
    const std::string name = o.ngram_scores.size() == 1 ? "ngram" : concat("ngram_", m + 1);
    for (RescoredLists* const lists : all) {
      int64_t words = 0, unknown = 0, excluded = 0;
      for (NBestList& list : lists->lists)
        for (NBestHypothesis& h : list.hypotheses) {
          double log_p = 0;
          NGramModel::State state = model.sentence_begin();
          for_each_word(h.words, [&](std::string_view word) {
            const int32_t id = model.id(word);
            ++words;
            unknown += id == model.unknown() ? 1 : 0;
            log_p += model.advance(state, id) * std::numbers::ln10;
          });
          log_p += model.advance(state, model.end()) * std::numbers::ln10;
          excluded += std::isinf(log_p) ? 1 : 0;
          if (h.scores.empty()) h.scores.push_back(h.score);
          h.scores.push_back(log_p);
        }
      lists->score_names.push_back(unused_name(lists->score_names, name));
      if (unknown > 0 && model.unknown() != NGramModel::kNone)
        std::fprintf(
            stderr,
            "lm_rescore: %s, all hypotheses: %lld of %lld words are unknown to %s; each has "
            "the probability of <unk>\n",
            lists->file.c_str(), static_cast<long long>(unknown), static_cast<long long>(words),
            o.ngram_scores[m].c_str());
      explain_impossible(
          *lists, excluded,
          concat("with a word that ", o.ngram_scores[m], ", which has no <unk>, does not know"));
    }
  }
}

void score_lists(const RescoreOptions& o, RescoredLists& lists, Device device) {
  const auto start = std::chrono::steady_clock::now();
  Progress progress("score " + lists.file, "tokens");
  const auto models = static_cast<int64_t>(o.checkpoint.size());
  const std::vector<std::string> texts = all_texts(lists.lists);
  // Of each list the first pass's choice: other hypotheses may have words that nobody says.
  require_known(o.checkpoint, lists.first_pass(), o.max_unknown, lists.file + ", first pass");
  lists.model = score_sentences_once(
      o.checkpoint, texts, o.scoring(device), [&](size_t model, int64_t done, int64_t all) {
        progress.update(static_cast<int64_t>(model) * all + done, models * all);
      });
  progress.finish();
  lists.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (size_t m = 0; m < o.checkpoint.size(); ++m)
    if (is_ngram_file(o.checkpoint[m]))  // which has no dictionary to look into before
      require_known({.tokens = lists.model.tokens, .unknown = lists.model.unknown[m]},
                    o.max_unknown, lists.file + ", all different hypotheses",
                    concat("the model ", o.checkpoint[m]));
  lists.scores = scored_lists(lists.lists, lists.model.log_p, o.first());
  explain_unknown(o, lists);
  print_warning(partly_known_warning(o.checkpoint, texts, lists.file));
  if (!reads_raw_text(o.checkpoint[0])) explain_spelled_specials(lists);
  lists.impossible.excluded =
      std::ranges::count_if(lists.model.log_p, [](double log_p) { return std::isinf(log_p); });
  explain_impossible(lists, lists.impossible.excluded,
                     "with a word that a model excludes by a bias of -inf (but with --lambda 0)");
}

void require_same_scores(const RescoredLists& tuning, const RescoredLists& lists) {
  require(tuning.score_names == lists.score_names, tuning.file, " has the first-pass scores ",
          joined(tuning.score_names), ", but ", lists.file, " has ", joined(lists.score_names),
          ": --nbest-scores names the scores of both");
}

std::string unused_name(const std::vector<std::string>& names, std::string name) {
  while (std::ranges::count(names, name) > 0) name += "_2";
  return name;
}

RescoringWeights tuned_weights(const RescoreOptions& o, const RescoredLists& lists) {
  const bool mert =
      o.tuning == WeightSearch::mert || (o.tuning == WeightSearch::automatic &&
                                         lists.score_names.size() > 1 && o.first_weights.empty());
  TunedWeights tuned =
      mert ? tune_weights_together(lists.lists, lists.model.log_p, lists.references, o.measure,
                                   {.restarts = o.restarts, .seed = o.tuning_seed})
           : tune_weights(lists.lists, lists.scores, lists.references, o.measure);
  print_warning(tuning_warning(tuned, lists.file));
  if (!mert) tuned.first = o.first();
  return static_cast<const RescoringWeights&>(tuned);
}

std::string weight_flags(const RescoringWeights& w) {
  std::string flags;
  if (!w.first.empty() && w.first != std::vector<double>{1}) {
    flags += "--first-weights";
    for (const double weight : w.first) flags += " " + shortest(weight);
    flags += " ";
  }
  return flags + concat("--lambda ", w.lambda, " --mu ", w.mu);
}

}  // namespace nine::app
