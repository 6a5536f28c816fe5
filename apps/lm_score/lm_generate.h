// lm_score --generate: continues prompts word by word.
#pragma once

#include <ostream>
#include <span>

#include "apps/lm_train/lm_data.h"

namespace nine::app {

/// Continuations side by side: what one panel of the head takes.
inline constexpr int64_t kMostColumns = 32;
inline constexpr int64_t kMostWords = 1'000'000, kMostSamples = 1'000'000;

/// How the next word is chosen from log-probabilities. Applied in this order.
struct Sampling {
  bool allow_unknown = false;  ///< otherwise <unk> has no share
  double temperature =
      1;  ///< log-probabilities are divided by it; 0: the likeliest word (ties: the lower number)
  int64_t top_k = 0;  ///< only so many likeliest words; 0: all
  double top_p = 1;   ///< of those, the fewest likeliest whose shares reach it; at least one
};

/// The word that a uniform number in [0, 1) stands for.
int32_t choose_word(std::span<const double> log_p, const Sampling& sampling, double uniform);

struct GenerateOptions {
  Sampling sampling;
  int64_t max_words = 50;  ///< added to a prompt at most
  int64_t samples = 1;     ///< continuations of each prompt
  int64_t batch = 32;      ///< of them side by side
  uint64_t seed = 1;
};

struct Generated {
  int64_t texts = 0, words = 0, ended = 0;  ///< ended: by </s>, not by max_words
  double nats =
      0;  ///< -log p of what was added (under the model itself, temperature 1), </s> counted
};

/// Writes `samples` lines for each prompt: its words and what follows. The random number behind a
/// word depends on seed, line, sample and position alone, and so does everything else: neither
/// `batch` nor the other lines change a text.
Generated generate_text(const SavedLanguageModel& saved, std::span<const std::string> prompts,
                        const GenerateOptions& how, std::ostream& out);

}  // namespace nine::app
