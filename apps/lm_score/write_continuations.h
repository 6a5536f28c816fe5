// lm_score --generate: continuations of prompts as lines.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "data/detokenize.h"
#include "nn/models/generate_text.h"

namespace nine::app {

/// The limits on the words of a continuation, and on the continuations of a prompt.
inline constexpr int64_t kMostWords = 1'000'000, kMostSamples = 1'000'000;

/// Writes a line for each continuation (text_of), in the order of prompts and samples. Lines reach
/// `out` a batch at a time. A raw text may have several lines; U+FFFD stands for bytes that are not
/// valid UTF-8 (visible_text), and its last line ends. With `json` each line is an object with
/// `line` (of the prompt, from 1), `sample` (from 1) and `text`. Words become prose by the rules
/// `prose`, after subwords are joined. Error: these rules for a model of raw text. Processes share
/// the batches; each process writes the whole output.
GenerationStats write_continuations(const LanguageModel& model,
                                    std::span<const std::string> prompts,
                                    const GenerateOptions& options, bool json,
                                    const DetokenizeOptions& prose, std::ostream& out,
                                    Communicator& communicator);

/// Returns "20 texts, 131 words added, 17 ended by </s>; perplexity of what was added 14.30121".
/// `added` are words or tokens.
std::string summary(const GenerationStats& made, std::string_view added);

}  // namespace nine::app
