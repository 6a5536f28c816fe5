// Choosing the next word of a generated text.
#pragma once

#include <cstdint>
#include <span>

namespace nine {

/// How the next word is chosen from log-probabilities. The four are applied in this order.
struct SamplingOptions {
  bool allow_unknown = false;  ///< false: <unk> is never chosen
  double temperature = 1;      ///< log-probabilities are divided by it; 0: the likeliest word, of
                               ///< equal ones that with the smaller id
  int64_t top_k = 0;           ///< only so many likeliest words; 0: all
  double top_p = 1;            ///< of those, the fewest likeliest whose shares reach it (nucleus
                               ///< sampling; Holtzman et al., 2020); at least one
};

/// The id that a uniform random number in [0, 1) chooses, given log p of every word.
int32_t choose_word(std::span<const double> log_p, const SamplingOptions& options, double uniform);

}  // namespace nine
