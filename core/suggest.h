// What to say of a mistyped word: the nearest valid word, and all valid words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// Returns the candidate that `word` most likely misspells: it is a few edits away (insert, delete,
/// replace, swap), it starts with `word`, or `word` starts with it. Case, leading dashes and '_'
/// instead of '-' do not count. Empty if no candidate is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Returns "; did you mean X?" with `prefix` before the nearest candidate X. Empty if no candidate
/// is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view prefix = "");

/// Joins words by commas: "sgd, adam".
std::string comma_separated(const std::vector<std::string>& words);

}  // namespace nine
