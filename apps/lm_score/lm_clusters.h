// lm_score --clusters: sets of words that are hard to tell apart, for --restrict.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "data/word_clusters.h"

namespace nine::app {

/// The value of --clusters: the number of clusters and the distance, such as "20:ppmi".
struct ClusterSpec {
  int64_t count = 0;
  WordDistance distance = WordDistance::inner;

  /// Parses "20:ppmi". UsageError: another form.
  static ClusterSpec parse(std::string_view text);
};

/// The settings of --clusters.
struct ClusterOptions {
  ClusterSpec spec;
  int64_t size = 5;         ///< number of words in a set
  int64_t min_count = 500;  ///< fewest occurrences of a word in the training text
  std::string text;         ///< for ppmi: the text in which neighbours are counted
  uint64_t seed = 1;        ///< seed of the decomposition for ppmi
};

/// Writes one set a line, the closest set first. A line has the words, the centre first, then a tab
/// and the words' counts in the training text. The first lines, which begin with #, say how the
/// sets were made. A set whose first word begins with # has a space before it. For ppmi, words that
/// never stand next to another word of the vocabulary are left out. Errors: fewer words than a set
/// needs; those of ppmi_vectors().
void write_clusters(const std::string& checkpoint, const ClusterOptions& options,
                    std::ostream& out);

}  // namespace nine::app
