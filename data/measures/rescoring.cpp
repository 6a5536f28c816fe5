#include "data/measures/rescoring.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/error.h"
#include "data/measures/bleu.h"
#include "data/measures/word_errors.h"
#include "data/text.h"

namespace nine {
namespace {

constexpr int kGridOctaves = 5;  // lambda goes from 2^-5 to 2^5 units, with two values in each
                                 // octave
constexpr double kWords[] = {0, 0.25, 0.5, 1, 2, 4};  // mu is one of these numbers of units, with
                                                      // either sign
constexpr int kRefinements = 8;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();
constexpr double kWidest = 4;  // most a spread may be of the median distance; n-best lists have
                               // about 2

// Returns the median; of an even number of values, the lower of the two in the middle. Reorders the
// values.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the root of the mean variance within lists, limited to kWidest times the median distance
// from the lists' medians because of outliers.
template <class Value>
double spread(std::span<const ScoredList> lists, Value&& value) {
  double squares = 0;
  int64_t count = 0;
  std::vector<double> finite, distances;
  for (const ScoredList& list : lists) {
    finite.clear();
    for (const HypothesisScores& h : list)
      if (std::isfinite(value(h))) finite.push_back(value(h));
    if (finite.empty()) continue;
    double mean = 0;
    for (const double x : finite) mean += x / static_cast<double>(finite.size());
    for (const double x : finite) squares += (x - mean) * (x - mean);
    count += std::ssize(finite);
    const double middle = median(finite);
    for (const double x : finite)
      if (x != middle) distances.push_back(std::fabs(x - middle));
  }
  if (distances.empty()) return 0;
  // The order of the arguments matters: std::min then does not return a deviation that is NaN.
  return std::min(kWidest * median(distances), std::sqrt(squares / static_cast<double>(count)));
}

// Keeps the best weights so far.
class Search {
 public:
  Search(std::span<const ScoredList> lists,
         const std::function<double(std::span<const size_t>)>& loss)
      : lists_(lists), loss_(loss), best_loss_(loss(choose_hypotheses(lists, best_))) {}
  /// True if these weights are better. After kMostTries tries, no weights are.
  bool try_weights(const RescoringWeights& w) {
    if (best_.stopped || ++tries_ > kMostTries) {
      best_.stopped = true;
      return false;
    }
    const double loss = loss_(choose_hypotheses(lists_, w));
    // Uses <, because !(a >= b) would be true for NaN.
    if (!(std::make_tuple(loss, w.lambda, std::fabs(w.mu)) <
          std::make_tuple(best_loss_, best_.lambda, std::fabs(best_.mu))))
      return false;
    best_ = {w};
    best_loss_ = loss;
    return true;
  }
  const TunedWeights& best() const { return best_; }

 private:
  std::span<const ScoredList> lists_;
  const std::function<double(std::span<const size_t>)>& loss_;
  TunedWeights best_;
  double best_loss_;
  int tries_ = 0;
};

}  // namespace

std::vector<size_t> choose_hypotheses(std::span<const ScoredList> lists,
                                      const RescoringWeights& weights) {
  std::vector<size_t> chosen;
  for (const ScoredList& list : lists) {
    const auto score = [&](size_t i) {
      const auto& [first_pass, log_p, words] = list[i];
      // A model with weight 0 excludes no hypothesis.
      const bool excluded = log_p == kImpossible;
      if (first_pass == kImpossible || (excluded && weights.lambda != 0)) return kImpossible;
      const double sum = first_pass + weights.lambda * (excluded ? 0 : log_p) +
                         weights.mu * static_cast<double>(words);
      require(std::isfinite(sum), "lambda ", weights.lambda, " and mu ", weights.mu,
              " make a score of ", sum, " from the first-pass score ", first_pass, ", log p ",
              log_p, " and ", words, " words: give smaller weights");
      return sum;
    };
    size_t best = 0;
    double largest = score(0);
    for (size_t i = 1; i < list.size(); ++i)
      if (const double next = score(i); next > largest) {
        best = i;
        largest = next;
      }
    chosen.push_back(best);
  }
  return chosen;
}

TunedWeights tune_weights(std::span<const ScoredList> lists,
                          const std::function<double(std::span<const size_t>)>& loss) {
  require(!lists.empty(), "[tune_weights] there is no list to tune on");
  const double first = spread(lists, [](const auto&h) { return h.first_pass; }),
               log_p = spread(lists, [](const auto&h) { return h.log_p; }),
               words = spread(lists, [](const auto&h) { return static_cast<double>(h.words); });
  // If scores do not vary within lists, their weight changes nothing. If the first-pass scores do
  // not vary, the language model decides alone.
  const double unit = first > 0 ? first : 1, lambda_unit = log_p > 0 ? unit / log_p : 0,
               mu_unit = words > 0 ? unit / words : 0;
  const double least = std::exp2(-kGridOctaves) * lambda_unit;  // the smallest lambda of the grid
                                                                // besides 0
  Search search(lists, loss);
  for (int i = -2 * kGridOctaves - 1; i <= 2 * kGridOctaves; ++i)
    for (const double m : kWords)
      for (const double sign : {1.0, -1.0}) {
        const double factor = i < -2 * kGridOctaves ? 0 : std::exp2(i / 2.0);
        search.try_weights({factor * lambda_unit, sign * m * mu_unit});
      }
  double step = 0.25;
  for (int i = 0; i < kRefinements; ++i, step /= 2)
    for (bool better = true; better;) {
      better = false;
      for (const double sign : {-1.0, 1.0}) {
        const RescoringWeights& w = search.best();
        const double lambda = w.lambda * std::exp2(sign * step);
        // If the first-pass scores do not vary, all smaller lambdas are equally good.
        if (lambda >= least) better = search.try_weights({lambda, w.mu}) || better;
      }
      for (const double sign : {-1.0, 1.0}) {
        const RescoringWeights& w = search.best();
        better = search.try_weights({w.lambda, w.mu + sign * step * mu_unit}) || better;
      }
    }
  return search.best();
}

double first_pass_spread(std::span<const NBestList> lists) {
  std::vector<ScoredList> scores;
  for (const NBestList& list : lists) {
    scores.emplace_back();
    for (const NBestHypothesis& h : list.hypotheses)
      scores.back().push_back({.first_pass = h.score});
  }
  return spread(scores, [](const HypothesisScores& h) { return h.first_pass; });
}

std::vector<std::string> all_texts(std::span<const NBestList> lists) {
  std::vector<std::string> texts;
  for (const NBestList& list : lists)
    for (const NBestHypothesis& h : list.hypotheses) texts.push_back(h.words);
  return texts;
}

std::vector<ScoredList> scored_lists(std::span<const NBestList> lists,
                                     std::span<const double> log_p) {
  std::vector<ScoredList> all;
  size_t at = 0;
  std::vector<std::string_view> words;
  for (const NBestList& list : lists) {
    ScoredList& scores = all.emplace_back();
    for (const NBestHypothesis& h : list.hypotheses) {
      split_words(h.words, words);
      scores.push_back({h.score, log_p[at++], std::ssize(words)});
    }
  }
  return all;
}

std::vector<size_t> first_choices(std::span<const NBestList> lists) {
  std::vector<size_t> choices;
  for (const NBestList& list : lists) {
    const auto best = std::ranges::max_element(list.hypotheses, {}, &NBestHypothesis::score);
    choices.push_back(static_cast<size_t>(best - list.hypotheses.begin()));
  }
  return choices;
}

std::vector<std::string> chosen_texts(std::span<const NBestList> lists,
                                      std::span<const size_t> chosen) {
  std::vector<std::string> all;
  for (size_t i = 0; i < lists.size(); ++i) all.push_back(lists[i].hypotheses[chosen[i]].words);
  return all;
}

std::vector<std::vector<int64_t>> hypothesis_errors(std::span<const NBestList> lists,
                                                    std::span<const std::string> references) {
  std::vector<std::vector<int64_t>> errors;
  for (size_t i = 0; i < lists.size(); ++i) {
    errors.emplace_back();
    for (const NBestHypothesis& h : lists[i].hypotheses)
      errors.back().push_back(count_word_errors(references[i], h.words).errors());
  }
  return errors;
}

TunedWeights tune_weights(std::span<const NBestList> lists, std::span<const ScoredList> scores,
                          std::span<const std::string> references, RescoringMeasure measure) {
  if (measure == RescoringMeasure::bleu)
    return tune_weights(scores, [&](std::span<const size_t> chosen) {
      return -corpus_bleu(chosen_texts(lists, chosen), references,
                          {.tokenizer = BleuTokenizer::none})
                  .score;
    });
  const std::vector<std::vector<int64_t>> errors = hypothesis_errors(lists, references);
  TunedWeights tuned = tune_weights(scores, [&](std::span<const size_t> chosen) {
    int64_t sum = 0;
    for (size_t i = 0; i < chosen.size(); ++i) sum += errors[i][chosen[i]];
    return static_cast<double>(sum);
  });
  tuned.undecided = std::ranges::all_of(errors, [](const std::vector<int64_t>& of_list) {
    return std::ranges::adjacent_find(of_list, std::not_equal_to<>()) == of_list.end();
  });
  return tuned;
}

std::string tuning_warning(const TunedWeights& tuned, const std::string& name) {
  if (tuned.undecided)
    return concat("in no list of ", name,
                  " does one hypothesis have fewer errors than another, so that nothing tells "
                  "lambda and mu: they stay 0");
  if (tuned.stopped)
    return concat("the search for lambda and mu on ", name, " stopped after ", kMostTries,
                  " tries; the result is the best of these tries");
  return "";
}

}  // namespace nine
