// Choosing the next word of a generated text.
#pragma once

#include <cstdint>
#include <span>

namespace nine {

/// How the next word is chosen from log-probabilities. The four are applied in this order.
struct SamplingOptions {
  bool allow_unknown = false;  ///< false: id 1, <unk> of language models, is never chosen
  /// Log-probabilities are divided by it; 0: the likeliest word, of equal ones that with the
  /// smaller id.
  double temperature = 1;
  int64_t top_k = 0;  ///< only the k likeliest words; 0: all
  /// Of those, the fewest likeliest whose probabilities sum to at least this (nucleus sampling;
  /// Holtzman et al., 2020); at least one.
  double top_p = 1;
};

/// The id that a uniform random number in [0, 1) chooses, given log p of every word. Error: there
/// is no word to choose.
int32_t choose_word(std::span<const double> log_p, const SamplingOptions& options, double uniform);

}  // namespace nine
