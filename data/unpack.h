// Files that gzip or zstd packed, unpacked while they are read.
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <string_view>

namespace nine {

/// Whether a file that begins with this character can be packed.
bool may_be_packed(int first);

/// What `source` holds, unpacked where its first bytes are those of gzip or zstd, as it is where
/// they are not: the name of a file says nothing. Members of gzip and frames of zstd follow each
/// other in a file as they do in a concatenation. It never waits for more of the source than the
/// next character needs. Reading throws Error, which names the source, where the packed data are
/// damaged or end too early, and std::bad_alloc.
class UnpackedStream : public std::istream {
 public:
  /// `name` stands for the source in errors. The source must outlive the stream.
  UnpackedStream(std::istream& source, std::string name);

 private:
  std::unique_ptr<std::streambuf> buffer_;
};

}  // namespace nine
