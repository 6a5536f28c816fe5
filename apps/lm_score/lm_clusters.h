// lm_score --clusters: sets of words that are hard to tell apart, for --restrict.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "data/word_clusters.h"

namespace nine::app {

/// "20:ppmi": how many clusters, and by which distance.
struct ClusterSpec {
  int64_t count = 0;
  WordDistance distance = WordDistance::inner;

  /// UsageError: not of that form.
  static ClusterSpec parse(std::string_view text);
};

/// What --clusters is asked.
struct ClusterOptions {
  ClusterSpec spec;
  int64_t size = 5;         ///< words of a set
  int64_t min_count = 500;  ///< occurrences in the training text of each of them
  std::string text;         ///< for ppmi: where neighbours are counted
  uint64_t seed = 1;        ///< of the decomposition behind ppmi
};

/// Writes a set a line, the closest first: words, the centre first, a tab and their counts in the
/// training text; the first lines, which begin with #, say how they were made. A set whose first
/// word begins with # has a space before it. For ppmi a word that stands beside no other in the
/// text is no candidate. Errors: fewer candidates than a set has words; ppmi_vectors'.
void write_clusters(const std::string& checkpoint, const ClusterOptions& options,
                    std::ostream& out);

}  // namespace nine::app
