// Chooses hypotheses of n-best lists by a weighted sum of scores, and finds the weights.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "data/measures/weight_search.h"
#include "data/n_best.h"

namespace nine {

/// The scores of a hypothesis and its number of words.
struct HypothesisScores {
  double first_pass = 0;  ///< larger is better; -infinity: the logarithm of 0
  double log_p = 0;       ///< log-probability of the words and </s> under the language models;
                          ///< -infinity: excluded
  int64_t words = 0;
};
/// The hypotheses of one utterance, at least one.
using ScoredList = std::vector<HypothesisScores>;

/// The weights of the score first_pass + lambda * log_p + mu * words, where 0 times -infinity is 0.
struct RescoringWeights {
  double lambda = 0, mu = 0;
  /// The weights of a hypothesis's first-pass scores; scored_lists() computes first_pass with them.
  /// Empty: first_pass is NBestHypothesis::score.
  std::vector<double> first = {};
};

/// Returns the weighted sum of a hypothesis's scores; -infinity if first_pass is, or if log_p is
/// and lambda is not 0. Error: a sum of finite numbers is not finite with these weights.
double total_score(const HypothesisScores& scores, const RescoringWeights& weights);

/// Returns the place of the best hypothesis of each list; if several are equally good, the first.
/// If all scores of a list are -infinity, returns the first hypothesis. Error: a score of finite
/// numbers is not finite with these weights.
std::vector<size_t> choose_hypotheses(std::span<const ScoredList> lists,
                                      const RescoringWeights& weights);

/// What is counted, and what the weights are tuned for.
enum class RescoringMeasure : uint8_t {
  wer,  ///< word errors
  bleu  ///< corpus BLEU of the words as they are, tokenizer "none"
};
template <>
inline constexpr EnumNames<RescoringMeasure, 2> kEnumNames<RescoringMeasure>{
    "measure", {{{RescoringMeasure::wer, "wer"}, {RescoringMeasure::bleu, "bleu"}}}};

/// Returns the words of all hypotheses, list by list.
std::vector<std::string> all_texts(std::span<const NBestList> lists);
/// Returns the scores of the lists' hypotheses. `log_p` has a number for each text of all_texts().
/// If `first` is empty, first_pass is the hypothesis's
/// score. Otherwise it is the sum of the first-pass scores times the weights `first`, or -infinity
/// if one of these scores is -infinity, even with the weight 0. Errors: another number of log_p;
/// the numbers of weights and scores differ; a sum of finite numbers is not finite.
std::vector<ScoredList> scored_lists(std::span<const NBestList> lists,
                                     std::span<const double> log_p,
                                     std::span<const double> first = {});
/// Returns the first pass's choice in each list: the best first-pass score; of equal ones the
/// first. Error: a list without hypotheses.
std::vector<size_t> first_choices(std::span<const NBestList> lists);
/// Returns the words of the chosen hypotheses. Error: not one choice for each list.
std::vector<std::string> chosen_texts(std::span<const NBestList> lists,
                                      std::span<const size_t> chosen);
/// Returns the word errors of each hypothesis, list by list. Error: not one of `references` for
/// each list.
std::vector<std::vector<int64_t>> hypothesis_errors(std::span<const NBestList> lists,
                                                    std::span<const std::string> references);

/// The weights that tune_weights() found.
struct TunedWeights : RescoringWeights {
  bool stopped = false;    ///< true if the search ended after kMostTries tries, although more tries
                           ///< might have found better weights
  bool undecided = false;  ///< true if in no list one hypothesis has fewer errors than another, so
                           ///< that both weights stay 0
};
/// The most weights that tune_weights() tries. It usually tries about 300.
inline constexpr int kMostTries = 10'000;

/// How weights are searched.
enum class WeightSearch : uint8_t {
  automatic,  ///< mert for several first-pass scores without weights, otherwise grid
  grid,       ///< tune_weights(): lambda and mu on a grid and in smaller and smaller steps
  mert  ///< tune_weights_together(): all weights, each exactly along a line, from several starts
};
template <>
inline constexpr EnumNames<WeightSearch, 3> kEnumNames<WeightSearch>{
    "search for weights",
    {{{WeightSearch::automatic, "auto"},
      {WeightSearch::grid, "grid"},
      {WeightSearch::mert, "mert"}}}};

/// Returns a warning if the weights are undecided or the search was stopped; otherwise an empty
/// text. `name` is the name of the lists.
std::string tuning_warning(const TunedWeights& tuned, const std::string& name);

/// Returns the spread of the first-pass scores within lists, as tune_weights() measures it.
double first_pass_spread(std::span<const NBestList> lists);

/// Returns weights that make the loss of the chosen hypotheses small. `loss` gets the place of the
/// chosen hypothesis in each list, as choose_hypotheses() returns it. `loss` must return a smaller
/// number for a better choice; NaN is never better. Tries a grid, and then smaller and smaller
/// steps along each weight. The grid's unit of lambda is the spread of first_pass divided by the
/// spread of log_p. The grid's unit of mu is the spread of first_pass divided by the spread of
/// `words`. Each spread is that of spread_within(), so the base of the first pass's logarithm does
/// not matter. The search is deterministic. Among equal losses the smaller lambda wins, then the
/// smaller |mu|. Error: no list.
TunedWeights tune_weights(std::span<const ScoredList> lists,
                          const std::function<double(std::span<const size_t>)>& loss);
/// Returns the weights for which the chosen hypotheses have the fewest word errors or the largest
/// BLEU. `scores` are those of `lists`, and `references` as in hypothesis_errors().
TunedWeights tune_weights(std::span<const NBestList> lists, std::span<const ScoredList> scores,
                          std::span<const std::string> references, RescoringMeasure measure);

/// Returns the weights of several first-pass scores, lambda and mu, for which search_weights()
/// finds the fewest word errors or the largest BLEU. `log_p` are those of all_texts(). lambda and
/// the first score's weight are 0 or more; the first score's weight is 1 unless the search ends at
/// 0. Errors: no list; hypotheses have different numbers of scores.
TunedWeights tune_weights_together(std::span<const NBestList> lists, std::span<const double> log_p,
                                   std::span<const std::string> references,
                                   RescoringMeasure measure, const WeightSearchOptions& options);

}  // namespace nine
