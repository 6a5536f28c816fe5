// lm_score --generate: continuations of prompts as lines.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "nn/models/generate_text.h"

namespace nine::app {

/// Most words of a continuation, most continuations of a prompt.
inline constexpr int64_t kMostWords = 1'000'000, kMostSamples = 1'000'000;

/// Writes a line for each continuation (line_of). Lines come in the order of prompts and samples,
/// and reach `out` a batch at a time. Processes share batches out; each writes everything.
GenerationStats write_continuations(const LanguageModel& model,
                                    std::span<const std::string> prompts,
                                    const GenerateOptions& options, std::ostream& out,
                                    Communicator& communicator);

/// "20 texts, 131 words added, 17 ended by </s>; perplexity of what was added 14.30121".
std::string summary(const GenerationStats& made);

}  // namespace nine::app
