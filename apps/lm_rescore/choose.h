// Which hypothesis lm_rescore chooses, and how sure it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lm_rescore/rescore.h"

namespace nine::app {

/// How posteriors and confidences follow from scores.
struct PosteriorSettings {
  double scale = 0;
  ConfidenceMap map;   ///< of the confidences
  bool tuned = false;  ///< true if the scale or the map was found on --tune-nbest
};

/// The chosen hypotheses of lists. The posteriors are empty unless an option needs them.
struct Choices {
  RescoringWeights weights;
  PosteriorSettings how;
  std::vector<size_t> chosen;
  std::vector<std::vector<double>> posteriors;   ///< of each list's hypotheses
  std::vector<std::vector<double>> confidences;  ///< of each chosen word (--confidences)
  double expected_errors = 0;                    ///< of the choices; computed for --choice mbr
};

/// Returns --scale and --confidence-map. Finds those that are not given on the lists to tune on:
/// the scale with the fewest word errors (--choice mbr) or the best normalised cross-entropy, and
/// the map of fit_confidences(). Without such lists, the scale is 1 / lambda, or 1 if lambda is 0,
/// and the map changes nothing.
PosteriorSettings posterior_settings(const RescoreOptions& options, const RescoringWeights& weights,
                                     const RescoredLists* tuning);

/// Chooses by the weights, or with --choice mbr by the expected word errors.
Choices choose(const RescoreOptions& options, const RescoredLists& lists,
               const RescoringWeights& weights, const PosteriorSettings& how);

/// Returns the words of the chosen hypotheses with their confidences and whether they are right.
std::vector<ScoredWord> scored_words(const RescoredLists& lists, const Choices& choices);

/// Writes --output-nbest: each hypothesis with its first-pass scores, log p, length (its number of
/// words), the logarithm of its posterior if there are posteriors, and the total, the list's best
/// first. Error: the format cannot hold them, or the file cannot be written.
void write_n_best(const RescoreOptions& options, const RescoredLists& lists,
                  const Choices& choices);

}  // namespace nine::app
