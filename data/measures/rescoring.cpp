#include "data/measures/rescoring.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/error.h"

namespace nine {
namespace {

constexpr int kGridOctaves = 5;  // lambda: from 2^-5 to 2^5 units, two values an octave
constexpr double kWords[] = {0, 0.25, 0.5, 1, 2, 4};  // mu: these units, either sign
constexpr int kRefinements = 8;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();
constexpr double kWidest = 4;  // a spread over the median distance; of n-best lists some 2

// The middle one in order, of an even number the lower; sorts a part of them.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Root of the mean variance within lists, unless outliers make it larger than the distances from
// the lists' medians tell.
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
  // In this order: a deviation that is NaN is not taken.
  return std::min(kWidest * median(distances), std::sqrt(squares / static_cast<double>(count)));
}

// The best weights so far.
class Search {
 public:
  Search(std::span<const ScoredList> lists,
         const std::function<double(std::span<const size_t>)>& loss)
      : lists_(lists), loss_(loss), best_loss_(loss(choose_hypotheses(lists, best_))) {}
  /// Whether these weights are better; none is after kMostTries.
  bool try_weights(const RescoringWeights& w) {
    if (best_.stopped || ++tries_ > kMostTries) {
      best_.stopped = true;
      return false;
    }
    const double loss = loss_(choose_hypotheses(lists_, w));
    // Less, not "not greater or equal": that would hold for NaN.
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
      // A model without a weight excludes no hypothesis.
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
  // Without variation in one of them its weight changes nothing. Where the first pass says nothing,
  // the language model decides alone.
  const double unit = first > 0 ? first : 1, lambda_unit = log_p > 0 ? unit / log_p : 0,
               mu_unit = words > 0 ? unit / words : 0;
  const double least = std::exp2(-kGridOctaves) * lambda_unit;  // but for 0
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
        const RescoringWeights w = search.best();
        const double lambda = w.lambda * std::exp2(sign * step);
        // Where the first pass says nothing, smaller ones are as good down to the last.
        if (lambda >= least) better = search.try_weights({lambda, w.mu}) || better;
      }
      for (const double sign : {-1.0, 1.0}) {
        const RescoringWeights w = search.best();
        better = search.try_weights({w.lambda, w.mu + sign * step * mu_unit}) || better;
      }
    }
  return search.best();
}

}  // namespace nine
