// Files that are no text, told by their bytes.
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// What a file that begins with these bytes is, and how to make a text of it, where it is a known
/// kind of file that is no text ("is packed by xz: unpack it with xzcat"); else empty.
std::string what_it_is(std::string_view start);

/// Whether bytes, some thousand at best, are those of a binary file: more than a few are control
/// characters.
bool looks_binary(std::string_view bytes);

}  // namespace nine
