// Chooses the next words of several texts from a network's contexts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/decoding_head.h"
#include "nn/models/sampling.h"

namespace nine {

/// A chosen word.
struct ChosenWord {
  int32_t word;
  double log_p;  ///< under the model itself (temperature 1)
};

/// Returns how many of the likeliest words choose_among() needs; 0 if the options choose among all.
int64_t words_to_choose_among(const SamplingOptions& options);
/// Returns the word that `uniform`, a random number in [0, 1), chooses among the likeliest words,
/// best first, with their log p. It is the word that choose_word() chooses among all words, if
/// there are at least words_to_choose_among() words. Error: there is no word to choose.
ChosenWord choose_among(std::span<const int32_t> words, std::span<const double> log_p,
                        const SamplingOptions& options, double uniform);

/// Predicts with an output layer and chooses by SamplingOptions. It asks for the likeliest words
/// only, where the options choose among few. For one thread.
class NextWords {
 public:
  /// `head` must outlive this object.
  NextWords(const DecodingHead& head, const SamplingOptions& options);

  /// Predicts from contexts: for each head one Var (N, width). The probability of the word
  /// `excluded` is set to 0; excluded = -1: no word.
  void predict(DecodingHead::Contexts contexts, int32_t excluded = -1);
  using Chosen = ChosenWord;
  /// Returns the next word for row `row`, which `uniform`, a random number in [0, 1), chooses.
  /// Error: there is no word to choose.
  Chosen choose(int64_t row, double uniform) const;

 private:
  const DecodingHead& head_;
  SamplingOptions options_;
  int64_t k_ = 0;  // likeliest words of each row in best_; 0: the options need all words
  WordScores best_;
  std::vector<double> log_p_;  // (N, words), if all are needed
  DecodingHead::Memory memory_;
};

}  // namespace nine
