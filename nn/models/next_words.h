// Chooses the next words of several texts from a network's contexts.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/decoding_head.h"
#include "nn/models/sampling.h"

namespace nine {

/// Predicts with an output layer and chooses by SamplingOptions. It asks for the likeliest words
/// only, where the options choose among few. For one thread.
class NextWords {
 public:
  /// `head` must outlive this object.
  NextWords(const DecodingHead& head, const SamplingOptions& options);

  /// Predicts from contexts: for each head one Var (N, width). The probability of the word
  /// `excluded` is set to 0; excluded = -1: no word.
  void predict(DecodingHead::Contexts contexts, int32_t excluded = -1);
  struct Chosen {
    int32_t word;
    double log_p;  ///< under the model itself (temperature 1)
  };
  /// Returns the next word for row `row`, which `uniform`, a random number in [0, 1), chooses.
  /// Error: there is no word to choose.
  Chosen choose(int64_t row, double uniform) const;

 private:
  const DecodingHead& head_;
  SamplingOptions options_;
  bool few_;       // the options need only the k_ likeliest words
  int64_t k_ = 0;  // of each row in best_
  WordScores best_;
  std::vector<double> log_p_;  // (N, words), if not few_
  DecodingHead::Memory memory_;
};

}  // namespace nine
