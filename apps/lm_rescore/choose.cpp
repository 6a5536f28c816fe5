#include "apps/lm_rescore/choose.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "apps/lm_rescore/warn_of_lists.h"
#include "core/files.h"
#include "data/measures/word_errors.h"
#include "data/pack.h"
#include "data/text.h"

namespace nine::app {
namespace {

constexpr const char* kLogPosterior = "log_posterior";
constexpr int kScaleOctaves = 12;  // scales to try: 2^-12 to 2^12 over the spread of the totals
constexpr int kStepsAnOctave = 2;
constexpr int kFewSteps = 30;  // of fit_confidences(), for each scale that is tried

std::vector<double> totals_of(const ScoredList& list, const RescoringWeights& weights) {
  std::vector<double> totals;
  for (const HypothesisScores& h : list) totals.push_back(total_score(h, weights));
  return totals;
}

std::vector<std::string_view> texts_of_list(const NBestList& list) {
  std::vector<std::string_view> texts;
  for (const NBestHypothesis& h : list.hypotheses) texts.push_back(h.words);
  return texts;
}

// Appends the words of a hypothesis.
void append_words(const std::string& reference, const std::string& words,
                  const std::vector<double>& confidences, std::vector<ScoredWord>& all) {
  std::vector<std::string_view> expected, own;
  split_words(reference, expected);
  split_words(words, own);
  size_t at = 0;
  for (const Edit edit : align_words(expected, own))
    if (edit != Edit::deletion) all.push_back({confidences[at++], edit == Edit::correct});
}

// Lists to tune on, aligned once for all scales.
class ScaleSearch {
 public:
  ScaleSearch(const RescoreOptions& o, const RescoredLists& lists, const RescoringWeights& weights)
      : o_(o), lists_(lists), chosen_(choose_hypotheses(lists.scores, weights)) {
    std::vector<double> all;
    std::vector<size_t> ends;
    for (size_t i = 0; i < chosen_.size(); ++i) {
      totals_.push_back(totals_of(lists.scores[i], weights));
      all.insert(all.end(), totals_.back().begin(), totals_.back().end());
      ends.push_back(all.size());
      if (mbr()) distances_.emplace_back(texts_of_list(lists.lists[i]));
      if (!mbr()) supports_.emplace_back(texts_of_list(lists.lists[i]), chosen_[i]);
    }
    if (mbr()) errors_ = hypothesis_errors(lists.lists, lists.references);
    spread_ = spread_within(all, ends);
  }

  // The best scale; 0 if there is none.
  double best() const {
    double best = 0, least = INFINITY;
    if (spread_ == 0) return 0;
    for (int step = -kScaleOctaves * kStepsAnOctave; step <= kScaleOctaves * kStepsAnOctave;
         ++step) {
      const double scale = std::exp2(static_cast<double>(step) / kStepsAnOctave) / spread_,
                   loss = mbr() ? errors(scale) : cross_entropy(scale);
      if (loss < least) {
        best = scale;
        least = loss;
      }
    }
    return best;
  }
  ConfidenceMap map(double scale) const {
    std::vector<size_t> chosen = chosen_;
    std::vector<ScoredWord> words;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const std::vector<double> p = posteriors(totals_[i], scale);
      const std::vector<std::string_view> texts = texts_of_list(lists_.lists[i]);
      if (mbr()) chosen[i] = distances_[i].least_expected_errors(p).hypothesis;
      append_words(lists_.references[i], lists_.lists[i].hypotheses[chosen[i]].words,
                   WordSupport(texts, chosen[i]).confidences(p), words);
    }
    return fit_confidences(words);
  }

 private:
  bool mbr() const { return o_.choice == Choice::mbr; }
  double errors(double scale) const {
    int64_t sum = 0;
    for (size_t i = 0; i < totals_.size(); ++i)
      sum +=
          errors_[i][distances_[i].least_expected_errors(posteriors(totals_[i], scale)).hypothesis];
    return static_cast<double>(sum);
  }
  double cross_entropy(double scale) const {
    std::vector<ScoredWord> words;
    for (size_t i = 0; i < totals_.size(); ++i)
      append_words(lists_.references[i], lists_.lists[i].hypotheses[chosen_[i]].words,
                   supports_[i].confidences(posteriors(totals_[i], scale)), words);
    const ConfidenceMap map =
        o_.confidence_map.empty() ? fit_confidences(words, kFewSteps) : o_.given_map();
    for (ScoredWord& word : words) word.confidence = map(word.confidence);
    const std::optional<double> nce = normalised_cross_entropy(words);
    return nce ? -*nce : INFINITY;
  }

  const RescoreOptions& o_;
  const RescoredLists& lists_;
  std::vector<size_t> chosen_;
  std::vector<std::vector<double>> totals_;
  std::vector<WordSupport> supports_;         // of the choices
  std::vector<ListDistances> distances_;      // for --choice mbr
  std::vector<std::vector<int64_t>> errors_;  // for --choice mbr
  double spread_ = 0;                         // of the totals
};

}  // namespace

PosteriorSettings posterior_settings(const RescoreOptions& o, const RescoringWeights& weights,
                                     const RescoredLists* tuning) {
  PosteriorSettings how{.scale = o.scale, .map = o.given_map()};
  if (!o.needs_posteriors()) return how;
  const bool maps = o.confidences && o.confidence_map.empty();
  if (tuning != nullptr && (o.scale == 0 || maps)) {
    const ScaleSearch search(o, *tuning, weights);
    if (o.scale == 0) how.scale = search.best();
    how.tuned = how.scale > 0;
    if (!how.tuned)
      print_warning(concat("--scale cannot be tuned on ", tuning->file,
                           ": all chosen words are right, or all are wrong, or all scores of each "
                           "list are equal"));
    if (how.tuned && maps) how.map = search.map(how.scale);
  }
  if (how.scale == 0) how.scale = weights.lambda > 0 ? 1 / weights.lambda : 1;
  return how;
}

Choices choose(const RescoreOptions& o, const RescoredLists& lists, const RescoringWeights& weights,
               const PosteriorSettings& how) {
  Choices c{.weights = weights, .how = how, .chosen = choose_hypotheses(lists.scores, weights)};
  if (!o.needs_posteriors()) return c;
  for (size_t i = 0; i < lists.lists.size(); ++i) {
    const std::vector<std::string_view> texts = texts_of_list(lists.lists[i]);
    c.posteriors.push_back(posteriors(totals_of(lists.scores[i], weights), how.scale));
    if (o.choice == Choice::mbr) {
      const ExpectedErrors least = ListDistances(texts).least_expected_errors(c.posteriors.back());
      c.chosen[i] = least.hypothesis;
      c.expected_errors += least.errors;
    }
    if (!o.confidences) continue;
    c.confidences.push_back(WordSupport(texts, c.chosen[i]).confidences(c.posteriors.back()));
    for (double& confidence : c.confidences.back()) confidence = how.map(confidence);
  }
  return c;
}

std::vector<ScoredWord> scored_words(const RescoredLists& lists, const Choices& c) {
  std::vector<ScoredWord> words;
  for (size_t i = 0; i < c.confidences.size(); ++i)
    append_words(lists.references[i], lists.lists[i].hypotheses[c.chosen[i]].words,
                 c.confidences[i], words);
  return words;
}

void write_n_best(const RescoreOptions& o, const RescoredLists& lists, const Choices& c) {
  const RescoringWeights& w = c.weights;
  if (o.output_nbest.empty()) return;
  const NBestFormat format = o.written_format();
  NBestFile file;
  if (format == NBestFormat::srilm) {
    file.scores = {"acoustic", "lm"};
  } else {
    file.scores = lists.score_names;
    if (format == NBestFormat::moses)  // its last score has this name
      std::ranges::replace(file.scores, kTotalScore, std::string("first_total"));
    for (const std::string_view name : {"log_p", "length", kLogPosterior, kTotalScore}) {
      if (name == kLogPosterior && c.posteriors.empty()) continue;
      if (format != NBestFormat::moses || name != kTotalScore)
        file.scores.push_back(unused_name(file.scores, std::string(name)));
    }
  }
  for (size_t i = 0; i < lists.lists.size(); ++i) {
    NBestList& list = file.lists.emplace_back();
    list.utterance = lists.lists[i].utterance;
    for (size_t k = 0; k < lists.scores[i].size(); ++k) {
      const HypothesisScores& scores = lists.scores[i][k];
      const NBestHypothesis& from = lists.lists[i].hypotheses[k];
      NBestHypothesis& h = list.hypotheses.emplace_back();
      h.words = from.words;
      h.score = total_score(scores, w);
      const auto words = static_cast<double>(scores.words);
      if (format == NBestFormat::srilm) {
        h.scores = {scores.first_pass + w.mu * words, w.lambda == 0 ? 0 : w.lambda * scores.log_p};
        continue;
      }
      h.scores = from.scores;
      if (h.scores.empty()) h.scores.push_back(from.score);
      h.scores.insert(h.scores.end(), {scores.log_p, words});
      if (!c.posteriors.empty()) h.scores.push_back(std::log(c.posteriors[i][k]));
      if (format != NBestFormat::moses) h.scores.push_back(h.score);
    }
    std::ranges::stable_sort(list.hypotheses, std::greater(), &NBestHypothesis::score);
  }
  const std::string text = n_best_text(file, format, o.nbest_cost);
  atomic_write_text(o.output_nbest, o.output_nbest.ends_with(".gz") ? gzip(text) : text);
}

}  // namespace nine::app
