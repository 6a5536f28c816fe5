// A text that a vocabulary does not fit: --max-unknown, the same in every program that looks the
// words of a text up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/options.h"

namespace nine::app {

/// The share of unknown tokens that is usual at most.
inline constexpr double kMaxUnknown = 0.5;

/// Declares --max-unknown, bound to `most`.
void add_max_unknown(Options& options, double& most);

/// Throws an Error that names text and vocabulary where more than `most` of the text's tokens are
/// unknown. The end of each sentence is a token.
void require_known(int64_t unknown, int64_t tokens, double most, const std::string& text,
                   const std::string& vocabulary);

/// The same for lines and the language models that will read them. Only their dictionaries are
/// opened; where one is missing nothing is checked, and opening the model will say it.
void require_known(const std::vector<std::string>& models, std::span<const std::string> lines,
                   double most, const std::string& text);

}  // namespace nine::app
