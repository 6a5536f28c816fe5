// Continuing prompts word by word with a language model.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/models/sampling.h"
#include "nn/models/saved_language_model.h"

namespace nine {

/// The largest batch of continuations: the number of context rows that the head computes together.
inline constexpr int64_t kMaxGenerateBatch = 32;

/// How prompts are continued.
struct GenerateOptions {
  SamplingOptions sampling;
  int64_t max_words = 50;  ///< added to a prompt at most
  int64_t samples = 1;     ///< continuations of each prompt
  int64_t batch = 32;      ///< continuations computed together, at most kMaxGenerateBatch
  uint64_t seed = 1;
};

/// A prompt with one of its continuations.
struct GeneratedText {
  int64_t prompt = 0, sample = 0;  ///< numbers of the prompt and of its continuation, from 0
  std::vector<int32_t> ids = {};   ///< the prompt's words, then those added, without </s>
  size_t prompt_words = 0;         ///< how many of the ids are the prompt's
  bool ended = false;              ///< by </s>, not by max_words
};

/// Totals of a call of generate_text.
struct GenerationStats {
  int64_t texts = 0;
  int64_t words = 0;  ///< added to the prompts, </s> not counted
  int64_t ended = 0;  ///< texts ended by </s>
  /// -log p of the words added and of </s>, under the model itself (temperature 1).
  double nats = 0;
};

/// Continues each prompt `samples` times and calls `callback` with finished texts, a batch at a
/// time, in the order of prompts and samples. The random number behind a word depends on seed,
/// prompt, sample and position alone, and so does everything else: neither `batch` nor the other
/// prompts change a text. Error: batch out of range.
GenerationStats generate_text(const SavedLanguageModel& saved, std::span<const std::string> prompts,
                              const GenerateOptions& options,
                              const std::function<void(std::span<const GeneratedText>)>& callback);

}  // namespace nine
