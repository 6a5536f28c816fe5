// Unpacks files of gzip or zstd while they are read.
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <string_view>

namespace nine {

/// True if a file that begins with this character can be packed.
bool may_be_packed(int first);

/// Returns a file's name without the ending that programs give to packed files, .gz or .zst.
std::string_view unpacked_name(std::string_view name);

/// Reads the text of `source`. It unpacks the text if the first bytes of `source` are those of gzip
/// or zstd; the name of a file does not matter. A file may hold several members of gzip or frames
/// of zstd, as a concatenation of files does. The stream never waits for more of the source than
/// the next character needs. Reading throws std::bad_alloc, and an Error that names the source if
/// the packed data are damaged or end too early.
class UnpackedStream : public std::istream {
 public:
  /// `name` stands for the source in errors. The source must outlive the stream.
  UnpackedStream(std::istream& source, std::string name);

 private:
  std::unique_ptr<std::streambuf> buffer_;
};

}  // namespace nine
