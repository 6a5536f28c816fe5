// Groups of English words that can stand in the same places of a sentence.
#pragma once

#include <cstddef>
#include <string_view>

namespace nine::app {

/// Number of groups; docs/report.md explains the choice.
inline constexpr size_t kWordGroups = 6;
/// The result for words outside of all groups.
inline constexpr size_t kNoGroup = kWordGroups;

/// A group's name; `group` is below kWordGroups.
const char* word_group_name(size_t group);

/// The group of an English word, kNoGroup for most.
size_t word_group(std::string_view word);

}  // namespace nine::app
