#include "data/measures/rescoring.h"

#include <cmath>
#include <tuple>

#include "core/error.h"

namespace nine {
namespace {

constexpr int kGridOctaves = 5;  // lambda: from 2^-5 to 2^5 units, two values an octave
constexpr double kWords[] = {0, 0.25, 0.5, 1, 2, 4};  // mu: these units, either sign
constexpr int kRefinements = 8;

// Root of the mean variance within lists.
template <class Value>
double spread(std::span<const ScoredList> lists, Value&& value) {
  double squares = 0;
  int64_t count = 0;
  for (const ScoredList& list : lists) {
    double mean = 0;
    for (const HypothesisScores& h : list) mean += value(h) / static_cast<double>(list.size());
    for (const HypothesisScores& h : list) squares += (value(h) - mean) * (value(h) - mean);
    count += std::ssize(list);
  }
  return std::sqrt(squares / static_cast<double>(count));
}

// The best weights so far.
class Search {
 public:
  Search(std::span<const ScoredList> lists,
         const std::function<double(std::span<const size_t>)>& loss)
      : lists_(lists), loss_(loss), best_loss_(loss(choose_hypotheses(lists, best_))) {}
  /// Whether these weights are better.
  bool try_weights(const RescoringWeights& w) {
    const double loss = loss_(choose_hypotheses(lists_, w));
    if (std::make_tuple(loss, w.lambda, std::fabs(w.mu)) >=
        std::make_tuple(best_loss_, best_.lambda, std::fabs(best_.mu)))
      return false;
    best_ = w;
    best_loss_ = loss;
    return true;
  }
  const RescoringWeights& best() const { return best_; }

 private:
  std::span<const ScoredList> lists_;
  const std::function<double(std::span<const size_t>)>& loss_;
  RescoringWeights best_;
  double best_loss_;
};

}  // namespace

std::vector<size_t> choose_hypotheses(std::span<const ScoredList> lists,
                                      const RescoringWeights& weights) {
  std::vector<size_t> chosen;
  for (const ScoredList& list : lists) {
    const auto score = [&](size_t i) {
      return list[i].first_pass + weights.lambda * list[i].log_p +
             weights.mu * static_cast<double>(list[i].words);
    };
    size_t best = 0;
    for (size_t i = 1; i < list.size(); ++i)
      if (score(i) > score(best)) best = i;
    chosen.push_back(best);
  }
  return chosen;
}

RescoringWeights tune_weights(std::span<const ScoredList> lists,
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
