// Messages about the words of a text that all programs share: a vocabulary that does not fit the
// text (--max-unknown), and words that are spelled as special words.
#pragma once

#include <functional>
#include <string>

#include "apps/cli/options.h"
#include "nn/models/known_words.h"

namespace nine {
class SpelledSpecials;
}

namespace nine::app {

/// Returns "--valid: 12.34% of the tokens are unknown"; empty if none is.
std::string unknown_text(const std::string& text, int64_t unknown, int64_t tokens);

/// Declares --max-unknown, bound to `most`.
void add_max_unknown(Options& options, double& most);

/// Calls say(line) if words of `text` are spelled as special words. The line has their numbers.
void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const std::function<void(std::string)>& say);
/// Prints the same line to standard error, after the program's name.
void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const char* program);

}  // namespace nine::app
