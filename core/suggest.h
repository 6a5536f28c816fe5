// The nearest valid word to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// The candidate that `word` most likely meant: few edits away (insert, delete, replace, swap), or
/// a beginning of it, or begun by it. Case does not count, '_' and leading dashes neither. Empty
/// when nothing is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean X?" with `prefix` before X, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view prefix = "");

}  // namespace nine
