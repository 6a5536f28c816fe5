// lm_score --compare: one model's predictions against another's on the same text, word by word.
#pragma once

#include <ostream>
#include <span>

#include "apps/lm_score/score_text.h"

namespace nine::app {

struct CompareOptions {
  ScoringOptions reading;
  int64_t resamples = 1000;
  int64_t worst = 10;  ///< sentences shown in each direction
  uint64_t seed = 1;
  Device device;
};

struct Interval {
  double low = 0, high = 0;
};
/// 95% percentile interval of exp(-sum of gains / number of tokens), the ratio of perplexities,
/// when the text's sentences are drawn again with replacement (Efron, 1979), `resamples` times.
/// gains: a sum for each sentence, tokens: how many it sums over. The same for the same seed,
/// whatever the threads.
Interval bootstrap_ratio(std::span<const double> gains, std::span<const int64_t> tokens,
                         int64_t resamples, uint64_t seed);

/// Scores `lines` with checkpoint a, then with b, and writes what docs/lm_score.md describes. A
/// token's gain is log p(B) - log p(A) in nats. Where the vocabularies hold different words, the
/// tokens that both models know are compared and the rest is counted: an unknown word's probability
/// is that of all words a model does not know, another event for each.
void compare_models(const std::string& a, const std::string& b, std::span<const std::string> lines,
                    const CompareOptions& how, std::ostream& out);

/// A word of the text with the gain of all its occurrences together.
struct WordDifference {
  std::string word;
  int64_t count = 0;
  double gain = 0;  ///< sum of log p(B) - log p(A), nats
};
struct WordDifferences {
  std::vector<WordDifference> words;  ///< by gain, the largest first; ties by word
  int64_t tokens = 0, left_out = 0;
  double gain = 0;  ///< of all tokens
};
/// The words of `lines` (and </s>) by how much likelier checkpoint b finds them than a; tokens that
/// only one of the two models knows are left out. An unknown word's occurrences count under <unk>.
WordDifferences word_differences(const std::string& a, const std::string& b,
                                 std::span<const std::string> lines, const CompareOptions& how);

}  // namespace nine::app
