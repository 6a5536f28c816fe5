// Checks that the vocabularies of language models fit a text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/unknown_words.h"

namespace nine {

/// Checks lines for the language models that will read them, as require_known() of
/// data/unknown_words.h does. Opens only the models' dictionaries. If a dictionary is missing,
/// checks nothing, because opening the model reports the missing file.
void require_known(const std::vector<std::string>& models, std::span<const std::string> lines,
                   double most, const std::string& text);

}  // namespace nine
