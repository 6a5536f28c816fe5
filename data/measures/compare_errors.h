// Two systems' word errors on the same utterances: are they different, are they the same, and what
// can the set of utterances decide.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/measures/bootstrap.h"
#include "data/measures/word_errors.h"

namespace nine {

/// The alignments of one utterance with its reference.
struct UtteranceErrors {
  std::vector<Edit> a, b;
};

/// Rates are in percent of the reference's words; differences are B - A, in points. Of a single
/// utterance there are no draws: intervals, standard error and `decidable` are 0 and mean nothing.
struct ErrorComparison {
  WordErrors a, b;
  Interval rate_a, rate_b;  ///< 95%, bootstrap over the groups
  double difference = 0;
  Interval difference_95, difference_90;  ///< bootstrap of pairs over the groups
  int64_t groups = 0;                     ///< what is drawn again; 1: no draws
  double standard_error = 0;  ///< of the difference: the standard deviation of the draws
  Mapsswe mapsswe;            ///< of A - B
  /// Sum of the squared differences of errors of MAPSSWE's segments / words: the share of the words
  /// on which the systems differ, where a segment is one word.
  double discordance = 0;
  /// equivalence_margin() at 5% and a power of 80%, in points: with the standard error above, and
  /// with sqrt(discordance / words), where segments were independent of each other.
  double decidable = 0, decidable_independent = 0;

  bool has_draws() const { return groups > 1; }
  /// TOST at 5%: whether the 90% interval lies inside of +-margin.
  bool equivalent(double margin) const {
    return difference_90.low > -margin && difference_90.high < margin;
  }
};

/// What is wrong with groups that are only one.
inline constexpr const char* kOneGroup =
    "all utterances are one group: two or more are needed to draw from";

/// Compares two systems. `groups`: for each utterance the number, from 0, of the group that is
/// drawn together with it, such as its speaker. Errors: no utterance or no word in the references;
/// not one group an utterance; several utterances in one group.
ErrorComparison compare_errors(std::span<const UtteranceErrors> utterances,
                               std::span<const size_t> groups, const BootstrapOptions& options);

}  // namespace nine
