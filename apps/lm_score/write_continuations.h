// lm_score --generate: continuations of prompts as lines.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "nn/models/generate_text.h"

namespace nine::app {

/// The limits on the words of a continuation, and on the continuations of a prompt.
inline constexpr int64_t kMostWords = 1'000'000, kMostSamples = 1'000'000;

/// Writes a line for each continuation (line_of), in the order of prompts and samples. Lines reach
/// `out` a batch at a time. Processes share the batches; each process writes the whole output.
GenerationStats write_continuations(const LanguageModel& model,
                                    std::span<const std::string> prompts,
                                    const GenerateOptions& options, std::ostream& out,
                                    Communicator& communicator);

/// Returns "20 texts, 131 words added, 17 ended by </s>; perplexity of what was added 14.30121".
std::string summary(const GenerationStats& made);

}  // namespace nine::app
