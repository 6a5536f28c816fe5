// Groups of English words that can stand in the same places of a sentence.
#pragma once

#include <cstddef>
#include <string_view>

namespace nine::app {

/// docs/report.md says why these groups.
inline constexpr size_t kWordGroups = 6;
/// The group of words that are in none.
inline constexpr size_t kNoGroup = kWordGroups;

/// `group` is below kWordGroups.
const char* word_group_name(size_t group);

/// The group of an English word, kNoGroup for most.
size_t word_group(std::string_view word);

}  // namespace nine::app
