// Compares the word errors of two systems on the same utterances: whether they differ, whether they
// are equivalent, and how small a difference the set of utterances can decide.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/measures/bootstrap.h"
#include "data/measures/word_errors.h"

namespace nine {

/// The alignments of two systems' hypotheses of one utterance with its reference.
struct UtteranceErrors {
  std::vector<Edit> a, b;
};

/// The comparison of systems A and B. Rates are in percent of the reference's words; differences
/// are B - A, in percentage points. With fewer than two groups that have words there are no
/// bootstrap draws: intervals, standard error and `decidable` are then 0 and have no meaning.
struct ErrorComparison {
  WordErrors a, b;
  Interval rate_a, rate_b;  ///< 95%, bootstrap over the groups
  double difference = 0;
  Interval difference_95, difference_90;  ///< bootstrap of pairs over the groups
  int64_t groups = 0;                     ///< number of groups to draw from
  int64_t groups_with_words = 0;          ///< groups whose references have words
  int64_t drawn_again = 0;    ///< draws without a word of a reference: each was replaced by another
  double standard_error = 0;  ///< of the difference: the standard deviation of the draws
  Mapsswe mapsswe;            ///< of A - B
  /// The sum, over MAPSSWE's segments, of the squared difference of errors, divided by the number
  /// of words. If each segment is one word, this is the share of words on which the systems differ.
  double discordance = 0;
  /// equivalence_margin() at 5% and a power of 80%, in points. `decidable` uses the standard error
  /// above. `decidable_independent` uses sqrt(discordance / words), as if segments were independent
  /// of each other.
  double decidable = 0, decidable_independent = 0;

  bool has_draws() const { return groups_with_words > 1; }
  /// True if the draws differ in their difference, so that `decidable` says something.
  bool has_margin() const { return has_draws() && standard_error > 1e-9; }
  /// True if TOST at 5% finds the systems equivalent: the 90% interval lies inside of +-margin.
  bool equivalent(double margin) const {
    return difference_90.low > -margin && difference_90.high < margin;
  }
};

/// The error message if all utterances are in one group.
inline constexpr const char* kOneGroup =
    "all utterances are one group: two or more are needed to draw from";

/// Compares two systems. `groups` has, for each utterance, the number (from 0) of its group, such
/// as its speaker. The bootstrap draws whole groups. Errors: no utterance; no word in the
/// references; not one group for each utterance; several utterances that are all in one group.
ErrorComparison compare_errors(std::span<const UtteranceErrors> utterances,
                               std::span<const size_t> groups, const BootstrapOptions& options);

}  // namespace nine
