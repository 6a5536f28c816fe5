// Word vectors from counts of neighbouring words, without a model: positive pointwise mutual
// information (PPMI; Levy, Goldberg & Dagan, TACL 2015), reduced by a singular value decomposition.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/vocabulary.h"

namespace nine {

/// Settings of the vectors.
struct PpmiOptions {
  int64_t window = 2;        ///< number of words to the left and to the right that are neighbours
  int64_t dimensions = 300;  ///< most dimensions to keep
  uint64_t seed = 1;         ///< seed of the decomposition's random start
};

/// Returns the vectors of the words `ids` as ids.size() rows of the same width: `dimensions`, or
/// the number of words in the text if that is smaller. Let n(w, c) be how often c stands at most
/// `window` words away from w in a sentence. Then PPMI(w, c) = max(0, log(n(w, c) N / (n(w)
/// n(c)))), where n(w) is the sum of n(w, c) over all c, and N the sum of all n(w). The rows are U
/// S of the truncated decomposition U S V^T of this matrix over all words of the vocabulary.
/// Unknown words keep their place in the window, but do not count as neighbours. Errors: those of
/// TextReader; the text has no pair of known words, or no pair with one of the words `ids`.
std::vector<double> ppmi_vectors(const std::vector<std::string>& files,
                                 const Vocabulary& vocabulary, std::span<const int32_t> ids,
                                 const PpmiOptions& options);
/// Removes words without a neighbour from `ids`, and returns the vectors of the remaining words.
std::vector<double> ppmi_vectors_of_neighbours(const std::vector<std::string>& files,
                                               const Vocabulary& vocabulary,
                                               std::vector<int32_t>& ids,
                                               const PpmiOptions& options);

}  // namespace nine
