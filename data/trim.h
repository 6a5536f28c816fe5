// Lines without their blank ends.
#pragma once

#include <algorithm>
#include <string_view>

namespace nine {

/// Returns `text` without the spaces, tabs and CR at its ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(kBlank) + 1, text.size()));
  return text;
}

}  // namespace nine
