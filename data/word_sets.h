// Reads sets of words among which a model chooses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nine {

/// Words to choose from, such as a cluster of words that occur in the same contexts.
struct WordSet {
  std::vector<std::string> words;
  std::vector<int64_t> counts;  ///< of the words in the training text; empty: unknown
};

/// Reads sets, one per line: words separated by spaces, then optionally a tab and one count per
/// word. Ignores empty lines and lines that begin with #; a set whose first word begins with #
/// needs a space before it. Errors, with `name` as the file and the line's number: a word occurs
/// twice; a count is not a number, or counts are missing; a set has fewer than two words; a set
/// occurs twice; there is no set.
std::vector<WordSet> parse_word_sets(std::span<const std::string> lines, const std::string& name);

}  // namespace nine
