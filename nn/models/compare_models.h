// One language model's predictions against another's on the same text, word by word.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/measures/bootstrap.h"
#include "nn/models/language_model.h"

namespace nine {

class Communicator;

/// A token's gain is log p(B) - log p(A) in nats: above 0 where model B is better.
struct ModelComparison {
  std::vector<double> gains;             ///< of each token of the text; NaN: not compared
  std::vector<double> sentence_gains;    ///< of each sentence, the sum over its tokens compared
  std::vector<int64_t> sentence_tokens;  ///< how many these are
  double nats_a = 0, nats_b = 0;         ///< -log p of the tokens compared
  int64_t tokens = 0;                    ///< compared
  /// Tokens left out: in the vocabulary of one model only, and in neither.
  int64_t only_a = 0, only_b = 0, neither = 0;

  int64_t left_out() const { return only_a + only_b + neither; }
  double total_gain() const;
};

/// Scores `lines` with the model at path a, then with that at b; one model is in memory at a time.
/// Where there is no model at b, that is an error before anything is scored.
/// Where the vocabularies hold different words, the tokens that both hold are compared and the rest
/// is counted: the probability of <unk> is that of all words outside of a vocabulary, another event
/// for each model.
ModelComparison compare_models(const std::string& a, const std::string& b,
                               std::span<const std::string> lines, const ScoringOptions& scoring,
                               Device device);
/// The same by several processes, which share batches or columns out; each gets the comparison.
ModelComparison compare_models(const std::string& a, const std::string& b,
                               std::span<const std::string> lines, const ScoringOptions& scoring,
                               Device device, Communicator& communicator);

/// 95% percentile interval of sum of gains / number of tokens, -log of the ratio of perplexities B
/// / A, when the text's sentences are drawn again with replacement (Efron, 1979), `resamples`
/// times. gains: a sum for each sentence, tokens: how many it sums over. The same for the same
/// seed, for any number of threads. Error: resamples < 1; not one count a gain.
Interval bootstrap_gain(std::span<const double> gains, std::span<const int64_t> tokens,
                        int64_t resamples, uint64_t seed);

/// A word of the text with the gain of all its occurrences together.
struct WordDifference {
  std::string word;
  int64_t count = 0;
  double gain = 0;  ///< sum of log p(B) - log p(A), nats
};
struct WordDifferences {
  std::vector<WordDifference> words;  ///< by gain, the largest first; ties by word
  int64_t tokens = 0, left_out = 0;   ///< as in ModelComparison
  double gain = 0;                    ///< of all tokens
};
/// The words of `lines` (and </s>) by how much likelier the model at path b finds them than that at
/// a. Occurrences of an unknown word count under <unk>.
WordDifferences word_differences(const std::string& a, const std::string& b,
                                 std::span<const std::string> lines, const ScoringOptions& scoring,
                                 Device device);

}  // namespace nine
