// Recognises, by its first bytes, a file of another kind than the reader expects.
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// A kind of file that is neither text nor safetensors.
struct FileKind {
  /// The kind and, after a semicolon, how to make a readable file: "packed by xz; unpack it with
  /// `xz -d`". Empty: an unknown kind.
  std::string_view what;
  std::string_view to_text = {};  ///< how to make a text of it; empty: it holds no text
  bool may_be_text = false;       ///< true if a text can begin with these bytes too
};

/// Returns the kind of a file that begins with these bytes. Pass the first 1,024 bytes, or all of a
/// shorter file.
FileKind kind_of_bytes(std::string_view start);

/// Returns the kind of a file that begins with these bytes and how to make a text of it ("is packed
/// by xz: unpack it with xzcat"). Empty for a text and for an unknown kind.
std::string what_it_is(std::string_view start);

/// True if these bytes are from a binary file: more than a few are control characters. Pass about a
/// thousand bytes.
bool looks_binary(std::string_view bytes);

}  // namespace nine
