// The nearest valid word to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// The candidate that `word` is most likely a misspelling of: one that is a few edits away (insert,
/// delete, replace, swap), that starts with `word`, or that `word` starts with. Case, leading
/// dashes and '_' instead of '-' do not count. Empty when no candidate is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean X?" with `prefix` before X, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view prefix = "");

}  // namespace nine
