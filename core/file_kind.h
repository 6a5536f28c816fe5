// Files that are not what is read, told by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// A kind of file that is neither a text nor safetensors.
struct FileKind {
  /// What it is, and behind a semicolon how another file is made of it: "packed by xz; unpack it
  /// with `xz -d`". Empty: no kind that is known.
  std::string_view what;
  std::string_view to_text = {};  ///< how a text is made of it; empty: it holds none
  bool may_be_text = false;       ///< a text can begin with these bytes too
};

/// The kind of a file that begins with these bytes, 1,024 at best.
FileKind kind_of_bytes(std::string_view start);

/// What a file that begins with these bytes is, and how to make a text of it, where it is a known
/// kind of file that is no text ("is packed by xz: unpack it with xzcat"); else empty.
std::string what_it_is(std::string_view start);

/// Whether bytes, some thousand at best, are those of a binary file: more than a few are control
/// characters.
bool looks_binary(std::string_view bytes);

}  // namespace nine
