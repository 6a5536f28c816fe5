#include "data/measures/rescoring.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/error.h"
#include "core/quote.h"
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
constexpr double kLargestTuned = 1e8;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();
const BleuOptions kWordsAsTheyAre{.tokenizer = BleuTokenizer::none};

// Returns spread_within() of a value of the hypotheses.
template <class Value>
double spread(std::span<const ScoredList> lists, Value&& value) {
  std::vector<double> values;
  std::vector<size_t> ends;
  for (const ScoredList& list : lists) {
    for (const HypothesisScores& h : list) values.push_back(value(h));
    ends.push_back(values.size());
  }
  return spread_within(values, ends);
}

// Requires one of `what` for each list, or each hypothesis.
void require_each(size_t given, const char* what, size_t wanted, const char* of) {
  require(given == wanted, "there are ", given, " ", what, " for ", wanted, " ", of);
}
size_t hypotheses_of(std::span<const NBestList> lists) {
  size_t count = 0;
  for (const NBestList& list : lists) count += list.hypotheses.size();
  return count;
}

// Returns what a measure counts in each hypothesis, and the loss of sums of these counts.
std::vector<std::vector<int64_t>> bleu_numbers(std::span<const NBestList> lists,
                                               std::span<const std::string> references) {
  require_each(references.size(), "references", lists.size(), "lists");
  std::vector<std::vector<int64_t>> all;
  for (size_t i = 0; i < lists.size(); ++i)
    for (const NBestHypothesis& h : lists[i].hypotheses) {
      const BleuCounts c = count_bleu(h.words, references[i], kWordsAsTheyAre);
      std::vector<int64_t>& numbers = all.emplace_back();
      for (const NgramCounts& n : c.ngrams) numbers.insert(numbers.end(), {n.hypothesis, n.shared});
      numbers.insert(numbers.end(), {c.hypothesis_length, c.reference_length});
    }
  return all;
}
double bleu_loss(std::span<const int64_t> sums) {
  BleuCounts c;
  for (size_t n = 0; n < c.ngrams.size(); ++n) {
    c.ngrams[n].hypothesis = sums[2 * n];
    c.ngrams[n].shared = sums[2 * n + 1];
  }
  c.hypothesis_length = sums[2 * c.ngrams.size()];
  c.reference_length = sums[2 * c.ngrams.size() + 1];
  return -bleu_of(c, kWordsAsTheyAre).score;
}

bool all_equal(std::span<const std::vector<int64_t>> errors) {
  return std::ranges::all_of(errors, [](const std::vector<int64_t>& of_list) {
    return std::ranges::adjacent_find(of_list, std::not_equal_to<>()) == of_list.end();
  });
}

// The first-pass scores of a hypothesis.
std::span<const double> scores_of(const NBestHypothesis& h) {
  return h.scores.empty() ? std::span(&h.score, 1) : std::span<const double>(h.scores);
}

double weighted_sum(const NBestHypothesis& h, std::span<const double> weights) {
  const std::span<const double> scores = scores_of(h);
  require(scores.size() == weights.size(), "there are ", weights.size(), " weights for ",
          scores.size(), " first-pass scores: give one for each");
  double sum = 0;
  for (size_t k = 0; k < scores.size(); ++k) {
    if (scores[k] == kImpossible) return kImpossible;
    sum += weights[k] * scores[k];
  }
  require(std::isfinite(sum), "the first-pass weights make a score of ", sum,
          " from the hypothesis ", quote(h.words), ": give smaller weights");
  return sum;
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

double total_score(const HypothesisScores& scores, const RescoringWeights& weights) {
  const auto& [first_pass, log_p, words] = scores;
  // A model with weight 0 excludes no hypothesis.
  const bool excluded = log_p == kImpossible;
  if (first_pass == kImpossible || (excluded && weights.lambda != 0)) return kImpossible;
  const double sum = first_pass + weights.lambda * (excluded ? 0 : log_p) +
                     weights.mu * static_cast<double>(words);
  require(std::isfinite(sum), "lambda ", weights.lambda, " and mu ", weights.mu,
          " make a score of ", sum, " from the first-pass score ", first_pass, ", log p ", log_p,
          " and ", words, " words: give smaller weights");
  return sum;
}

std::vector<size_t> choose_hypotheses(std::span<const ScoredList> lists,
                                      const RescoringWeights& weights) {
  std::vector<size_t> chosen;
  for (const ScoredList& list : lists) {
    size_t best = 0;
    double largest = total_score(list[0], weights);
    for (size_t i = 1; i < list.size(); ++i)
      if (const double next = total_score(list[i], weights); next > largest) {
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
                                     std::span<const double> log_p, std::span<const double> first) {
  require_each(log_p.size(), "log-probabilities", hypotheses_of(lists), "hypotheses");
  std::vector<ScoredList> all;
  all.reserve(lists.size());
  size_t at = 0;
  for (const NBestList& list : lists) {
    ScoredList& scores = all.emplace_back();
    scores.reserve(list.hypotheses.size());
    for (const NBestHypothesis& h : list.hypotheses) {
      int64_t words = 0;
      for_each_word(h.words, [&](std::string_view) { ++words; });
      scores.push_back({first.empty() ? h.score : weighted_sum(h, first), log_p[at++], words});
    }
  }
  return all;
}

std::vector<size_t> first_choices(std::span<const NBestList> lists) {
  std::vector<size_t> choices;
  for (const NBestList& list : lists) {
    require(!list.hypotheses.empty(), "the list of ", quote(list.utterance), " has no hypotheses");
    const auto best = std::ranges::max_element(list.hypotheses, {}, &NBestHypothesis::score);
    choices.push_back(static_cast<size_t>(best - list.hypotheses.begin()));
  }
  return choices;
}

std::vector<std::string> chosen_texts(std::span<const NBestList> lists,
                                      std::span<const size_t> chosen) {
  require_each(chosen.size(), "choices", lists.size(), "lists");
  std::vector<std::string> all;
  for (size_t i = 0; i < lists.size(); ++i) all.push_back(lists[i].hypotheses.at(chosen[i]).words);
  return all;
}

std::vector<std::vector<int64_t>> hypothesis_errors(std::span<const NBestList> lists,
                                                    std::span<const std::string> references) {
  require_each(references.size(), "references", lists.size(), "lists");
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
  if (measure == RescoringMeasure::bleu) {
    const std::vector<std::vector<int64_t>> numbers = bleu_numbers(lists, references);
    std::vector<size_t> begins(1, 0);
    for (const NBestList& list : lists) begins.push_back(begins.back() + list.hypotheses.size());
    return tune_weights(scores, [&](std::span<const size_t> chosen) {
      std::vector<int64_t> sums(numbers[0].size());
      for (size_t i = 0; i < chosen.size(); ++i)
        for (size_t k = 0; k < sums.size(); ++k) sums[k] += numbers[begins[i] + chosen[i]][k];
      return bleu_loss(sums);
    });
  }
  const std::vector<std::vector<int64_t>> errors = hypothesis_errors(lists, references);
  TunedWeights tuned = tune_weights(scores, [&](std::span<const size_t> chosen) {
    int64_t sum = 0;
    for (size_t i = 0; i < chosen.size(); ++i) sum += errors[i][chosen[i]];
    return static_cast<double>(sum);
  });
  tuned.undecided = all_equal(errors);
  return tuned;
}

TunedWeights tune_weights_together(std::span<const NBestList> lists, std::span<const double> log_p,
                                   std::span<const std::string> references,
                                   RescoringMeasure measure, const WeightSearchOptions& options) {
  require(!lists.empty(), "[tune_weights_together] there is no list to tune on");
  for (const NBestList& list : lists)
    require(!list.hypotheses.empty(), "the list of ", quote(list.utterance), " has no hypotheses");
  require_each(log_p.size(), "log-probabilities", hypotheses_of(lists), "hypotheses");
  const size_t first = scores_of(lists[0].hypotheses[0]).size();
  TuningSet set{.features = first + 2, .counts = 1};
  size_t at = 0;
  std::vector<std::vector<int64_t>> numbers;
  if (measure == RescoringMeasure::bleu) {
    numbers = bleu_numbers(lists, references);
    set.loss = bleu_loss;
  } else {
    numbers = hypothesis_errors(lists, references);
    if (all_equal(numbers)) {
      TunedWeights none;
      none.first.assign(first, 1);
      none.undecided = true;
      return none;
    }
    set.loss = [](std::span<const int64_t> sums) { return static_cast<double>(sums[0]); };
  }
  for (const std::vector<int64_t>& n : numbers) {
    if (measure == RescoringMeasure::bleu) set.counts = n.size();
    set.counted.insert(set.counted.end(), n.begin(), n.end());
  }
  for (const NBestList& list : lists) {
    for (const NBestHypothesis& h : list.hypotheses) {
      const std::span<const double> scores = scores_of(h);
      require(scores.size() == first, "[tune_weights_together] hypotheses have ", first, " and ",
              scores.size(), " scores");
      set.impossible.push_back(std::ranges::count(scores, kImpossible) > 0 ? 1 : 0);
      set.values.insert(set.values.end(), scores.begin(), scores.end());
      int64_t words = 0;
      for_each_word(h.words, [&](std::string_view) { ++words; });
      set.values.insert(set.values.end(), {log_p[at++], static_cast<double>(words)});
    }
    set.ends.push_back(set.impossible.size());
  }
  std::vector<double> start(set.features, 1);  // the first pass alone
  start[first] = start[first + 1] = 0;
  std::vector<bool> not_negative(set.features, false);
  not_negative[0] = not_negative[first] = true;
  const FoundWeights found = search_weights(set, start, not_negative, options);
  double largest = 0;
  for (const double w : found.weights) largest = std::max(largest, std::fabs(w));
  // So that the first weight is 1, and no weight is larger than a flag takes.
  const double unit = std::max(found.weights[0], largest / kLargestTuned);
  TunedWeights tuned;
  for (size_t k = 0; k < first; ++k) tuned.first.push_back(found.weights[k] / unit);
  tuned.lambda = found.weights[first] / unit;
  tuned.mu = found.weights[first + 1] / unit;
  tuned.stopped = found.stopped;
  return tuned;
}

std::string tuning_warning(const TunedWeights& tuned, const std::string& name) {
  if (tuned.undecided)
    return concat("in no list of ", name,
                  " does one hypothesis have fewer errors than another, so that nothing tells "
                  "lambda and mu: they stay 0");
  if (tuned.stopped)
    return concat("the search for the weights on ", name, " stopped after ", kMostTries,
                  tuned.first.empty() ? " tries" : " lines", "; the result is the best of these");
  return "";
}

}  // namespace nine
