// Checks that the vocabularies of language models fit a text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/unknown_words.h"

namespace nine {

/// Checks lines for the language models that will read them, as require_known() of
/// data/unknown_words.h does. Opens only the models' dictionaries. Does not check n-gram models,
/// whose callers check them with their scores. If a dictionary is missing, checks nothing, because
/// opening the model reports the missing file.
void require_known(const std::vector<std::string>& models, std::span<const std::string> lines,
                   double most, const std::string& text);

/// Returns a warning if several models will read the lines and only some of them know a word. A
/// mixture of them then adds the probability of this word and that of <unk>, which stands for all
/// unknown words together. The warning counts the words of each different line once, with </s>.
/// Otherwise, if a dictionary is missing, or for models of raw text, returns an empty text.
std::string partly_known_warning(const std::vector<std::string>& models,
                                 std::span<const std::string> lines, const std::string& text);

}  // namespace nine
