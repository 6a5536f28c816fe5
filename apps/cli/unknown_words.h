// Messages about the words of a text that all programs share: a vocabulary that does not fit the
// text (--max-unknown), and words that are spelled as special words.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "data/unknown_words.h"

namespace nine {
class SpelledSpecials;
}

namespace nine::app {

/// Declares --max-unknown, bound to `most`.
void add_max_unknown(Options& options, double& most);

/// Checks lines for the language models that will read them (data/unknown_words.h). It opens only
/// the models' dictionaries. If a dictionary is missing, it checks nothing, because opening the
/// model reports the missing file.
void require_known(const std::vector<std::string>& models, std::span<const std::string> lines,
                   double most, const std::string& text);

/// Calls say(line) if words of `text` are spelled as special words. The line has their numbers.
void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const std::function<void(std::string)>& say);
/// Prints the same line to standard error, after the program's name.
void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const char* program);

}  // namespace nine::app
