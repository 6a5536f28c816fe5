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
  double first_pass = 0;  ///< larger is better
  double log_p = 0;       ///< of the words and </s> under the language models
  int64_t words = 0;
};
/// The hypotheses of one utterance, at least one.
using ScoredList = std::vector<HypothesisScores>;

/// score = first_pass + lambda * log_p + mu * words.
struct RescoringWeights {
  double lambda = 0, mu = 0;
};

/// The place of the best hypothesis of each list; of equal ones the first.
std::vector<size_t> choose_hypotheses(std::span<const ScoredList> lists,
                                      const RescoringWeights& weights);

/// Weights that make `loss` of the chosen hypotheses small: a grid, whose unit is the ratio of the
/// standard deviations within lists of the first-pass scores and of log_p (of words for mu), so
/// that the base of the first pass's logarithm does not matter; then steps along each weight that
/// become smaller. Nothing is random. Of equal losses the smaller lambda wins, then the smaller
/// |mu|. `loss` is smaller where the choice is better. Error: no list.
RescoringWeights tune_weights(std::span<const ScoredList> lists,
                              const std::function<double(std::span<const size_t>)>& loss);

}  // namespace nine
