// What --init says of words: those of the model that are kept, new ones, and those that are
// dropped.
#pragma once

#include <string>

#include "core/json.h"
#include "nn/models/match_words.h"

namespace nine::app {

/// Returns the table of words, with a line break before it; empty if all words are the model's.
std::string words_text(const WordMatch& words);

/// Returns the same as a value of the log's first line: counts, and the first words of each kind.
/// `init` is the value of --init.
Json words_event(const std::string& init, const WordMatch& words);

}  // namespace nine::app
