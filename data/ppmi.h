// Word vectors that no model has made: which words stand beside which in a text, as positive
// pointwise mutual information (Levy, Goldberg & Dagan, TACL 2015), reduced by a singular value
// decomposition.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/vocabulary.h"

namespace nine {

/// How vectors are made of a text.
struct PpmiOptions {
  int64_t window = 2;        ///< words to the left and to the right that count as neighbours
  int64_t dimensions = 300;  ///< kept at most
  uint64_t seed = 1;         ///< of the random start of the decomposition
};

/// Vectors of the words `ids`, ids.size() rows of the same width, which is `dimensions` or the
/// number of words in the text where that is smaller. With n(w, c) the times that c is at most
/// `window` words away from w in a sentence, PPMI(w, c) = max(0, log(n(w, c) N / (n(w) n(c)))); the
/// rows are U S of the truncated decomposition U S V^T of this matrix over all words of the
/// vocabulary. Unknown words keep their place in the window and are no neighbours. Errors:
/// TextReader's; the text has no pair of known words, or not one of a word of `ids`.
std::vector<double> ppmi_vectors(const std::vector<std::string>& files,
                                 const Vocabulary& vocabulary, std::span<const int32_t> ids,
                                 const PpmiOptions& options);
/// The same of those words that have a neighbour; the others are taken out of `ids`.
std::vector<double> ppmi_vectors_of_neighbours(const std::vector<std::string>& files,
                                               const Vocabulary& vocabulary,
                                               std::vector<int32_t>& ids,
                                               const PpmiOptions& options);

}  // namespace nine
