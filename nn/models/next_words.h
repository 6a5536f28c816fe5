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

  /// True if a row's bits may depend on the other rows of predict(). A caller whose results must
  /// not depend on them then passes the same number of rows, and a text always in the same row.
  bool rows_depend() const { return !head_.independent_rows(!few_); }
  /// Predicts from contexts (N, width). The probability of the word `excluded` is 0; -1: of no
  /// word.
  void predict(const Var& contexts, int32_t excluded = -1);
  struct Chosen {
    int32_t word;
    double log_p;  ///< under the model itself (temperature 1)
  };
  /// Returns the word of row `row` that a uniform random number in [0, 1) chooses. Error: there is
  /// no word to choose.
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
