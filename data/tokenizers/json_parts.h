// Members of the objects of a tokenizer.json, with errors that name them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/json.h"

namespace nine {

/// The most levels of sequences in sequences.
inline constexpr int kTokenizerLevels = 16;

/// Returns the member "type" of a part of a tokenizer, such as "ByteLevel". Error: it has none.
std::string part_type(const Json& part, std::string_view what);
/// Throws an Error if the part has a member that is not in `known`, nor "type".
void check_members(const Json& part, std::string_view what,
                   std::initializer_list<std::string_view> known);
/// Return a member, or `otherwise` if it is missing or null. Error: a value of another type.
std::string text_member(const Json& part, const char* key, const char* otherwise = nullptr);
bool bool_member(const Json& part, const char* key, bool otherwise);
int64_t int_member(const Json& part, const char* key, int64_t otherwise);
/// Returns a member that is an array. Error: it is missing or another value.
const Json& array_member(const Json& part, const char* key);
/// Reads {"String": TEXT} or {"Regex": TEXT}. Returns true if it is an expression.
bool read_pattern(const Json& part, std::string& text);

}  // namespace nine
