// What is odd about the words of a text, said the same in every program that looks them up: a
// vocabulary that does not fit (--max-unknown), words spelled as special ones.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/options.h"

namespace nine {
class SpelledSpecials;
}

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

/// Calls say(line) where words of `text` are spelled as special words, which the line counts.
void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const std::function<void(std::string)>& say);
/// The same on standard error, behind the program's name.
void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const char* program);

}  // namespace nine::app
