// Chooses the next word of a generated text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nine {

/// The settings of choose_word(), which applies them in the order of these members.
struct SamplingOptions {
  bool allow_unknown = false;  ///< false: never choose `unknown`
  /// Divides log-probabilities; 0: choose the likeliest word, of equally likely words the smallest
  /// id.
  double temperature = 1;
  int64_t top_k = 0;  ///< keep only the k likeliest words; 0: all
  /// Keep the smallest set of likeliest words whose probabilities sum to at least top_p (nucleus
  /// sampling; Holtzman et al., 2020); at least one word.
  double top_p = 1;
  int32_t unknown = 1;  ///< the id of <unk>; programs set it to the model's unknown()
};

/// The error of a choice among words that all have log p -infinity.
inline constexpr const char* kNoWordMayFollow =
    "[choose_word] the model excludes every word that may follow";

/// Returns the id that `uniform`, a random number in [0, 1), chooses. log_p: natural log p of every
/// word, by id. Errors: no word besides `unknown`; every word has log p -infinity.
int32_t choose_word(std::span<const double> log_p, const SamplingOptions& options, double uniform);

/// Returns the random number of one word, a function of these four arguments alone.
double uniform_of(uint64_t seed, int64_t prompt, int64_t sample, size_t position);

/// Checks the options. Errors: temperature < 0; top_k < 0; top_p outside of [0, 1].
void check(const SamplingOptions& options);

}  // namespace nine
