// Compares the predictions of two language models on the same text, word by word.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/measures/bootstrap.h"
#include "nn/models/language_model.h"

namespace nine {

class Communicator;

/// The comparison of models A and B. Tokens are the words and each sentence's </s>. A token's gain
/// is log p(B) - log p(A) in nats: above 0 if model B is better.
struct ModelComparison {
  std::vector<double> gains;             ///< of each token of the text; NaN: not compared
  std::vector<double> sentence_gains;    ///< of each sentence: the sum over its compared tokens
  std::vector<int64_t> sentence_tokens;  ///< number of compared tokens of each sentence
  double nats_a = 0, nats_b = 0;         ///< sum of -log p of the compared tokens, in nats
  int64_t tokens = 0;                    ///< number of compared tokens
  /// Of models that read raw text: the tokens of each line, as their dictionary spells them.
  std::vector<std::vector<std::string>> raw_tokens;
  /// Numbers of tokens left out: in the vocabulary of only one model, and in neither vocabulary.
  int64_t only_a = 0, only_b = 0, neither = 0;

  int64_t left_out() const { return only_a + only_b + neither; }
  double total_gain() const;  ///< returns the sum of sentence_gains, in nats
};

/// Scores `lines` with the model at path a, then with the model at path b; one model is in memory
/// at a time. If the vocabularies differ, compares the tokens that both contain and counts the
/// rest: the probability of <unk> is the probability of all words outside a vocabulary, a different
/// event for each model. Models of raw text must have one tokenizer. Errors: those of
/// LanguageModel::load() and score(); a compared token that a model excludes by a bias of
/// -infinity. A missing model at path b is found before any scoring.
ModelComparison compare_models(const std::string& a, const std::string& b,
                               std::span<const std::string> lines, const ScoringOptions& scoring,
                               Device device);
/// Does the same with several processes, which divide the batches, or with carry_state the columns,
/// among themselves. Each process gets the whole comparison. No installed header defines
/// Communicator, so that only Nine's own programs can call this.
ModelComparison compare_models(const std::string& a, const std::string& b,
                               std::span<const std::string> lines, const ScoringOptions& scoring,
                               Device device, Communicator& communicator);

/// Returns the 95% percentile interval of the mean gain, sum of gains / number of tokens, over
/// `resamples` bootstrap samples of the text's sentences (Efron, 1979). The mean gain is
/// log(perplexity of A / perplexity of B). gains: a sum for each sentence; tokens: the number of
/// tokens in each sum. The result depends on the seed, not on the number of threads. Errors:
/// resamples < 1; no gains; the numbers of gains and tokens differ.
Interval bootstrap_gain(std::span<const double> gains, std::span<const int64_t> tokens,
                        int64_t resamples, uint64_t seed);

/// A word of the text, with the sum of the gains of all its occurrences.
struct WordDifference {
  std::string word;
  int64_t count = 0;
  double gain = 0;  ///< sum of log p(B) - log p(A), nats
};
/// The result of word_differences().
struct WordDifferences {
  std::vector<WordDifference> words;  ///< by gain, largest first; ties by word
  int64_t tokens = 0, left_out = 0;   ///< as in ModelComparison
  double gain = 0;                    ///< of all tokens
};
/// Compares the models at paths a and b as compare_models() does. Returns the compared words, </s>
/// included, sorted by the sum of their gains, largest first. If both vocabularies have the same
/// words, unknown words are compared and count as <unk>; otherwise they are left out.
WordDifferences word_differences(const std::string& a, const std::string& b,
                                 std::span<const std::string> lines, const ScoringOptions& scoring,
                                 Device device);

}  // namespace nine
