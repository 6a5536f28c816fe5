// Choosing among the hypotheses of n-best lists by a weighted sum of scores, and finding the
// weights.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace nine {

/// What is known of a hypothesis.
struct HypothesisScores {
  double first_pass = 0;  ///< larger is better; -infinity: a log zero
  double log_p = 0;       ///< of the words and </s> under the language models; -infinity: excluded
  int64_t words = 0;
};
/// The hypotheses of one utterance, at least one.
using ScoredList = std::vector<HypothesisScores>;

/// score = first_pass + lambda * log_p + mu * words, where 0 times a log_p of -infinity is 0.
struct RescoringWeights {
  double lambda = 0, mu = 0;
};

/// The place of the best hypothesis of each list; of equal ones the first. A hypothesis whose score
/// is -infinity is chosen only as the first of a list without any other. Error: the weights make a
/// score that is not finite from finite numbers.
std::vector<size_t> choose_hypotheses(std::span<const ScoredList> lists,
                                      const RescoringWeights& weights);

/// Weights that were found.
struct TunedWeights : RescoringWeights {
  bool stopped = false;  ///< kMostTries were tried, and the next might have been better
};
/// How many weights tune_weights() tries at most. It tries some 300 as a rule.
inline constexpr int kMostTries = 10'000;

/// Weights that make `loss` of the chosen hypotheses small: a grid, whose unit is the ratio of the
/// spreads within lists of the first-pass scores and of log_p (of words for mu), so that the base
/// of the first pass's logarithm does not matter; then steps along each weight that become smaller.
/// A spread is the standard deviation of what is finite, but at most four times the median distance
/// from a list's median, so that a few outliers cannot move it. Nothing is random. Of equal losses
/// the smaller lambda wins, then the smaller |mu|. `loss` is smaller where the choice is better;
/// NaN is never better. Error: no list.
TunedWeights tune_weights(std::span<const ScoredList> lists,
                          const std::function<double(std::span<const size_t>)>& loss);

}  // namespace nine
