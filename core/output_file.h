// A file that is written from front to back, with its checksum.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "core/file_digest.h"

namespace nine {

/// Writes one file and computes its digest on the way. Every call throws an Error that names the
/// file if the system refuses (no space left, no permission, ...), and may throw what this thread's
/// InterruptCheck throws.
class OutputFile {
 public:
  /// Creates the file or empties it.
  explicit OutputFile(std::filesystem::path file);
  /// Closes the file. Without finish() the file may be incomplete.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends `size` bytes.
  void write(const void* data, size_t size);
  /// Writes the buffered bytes, waits until they are on disk (fsync), closes the file and returns
  /// its digest.
  FileDigest finish();

 private:
  void flush();
  void write_out(const std::byte* data, size_t size);
  [[noreturn]] void fail_writing(int error) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  FileDigest digest_;
  std::vector<std::byte> buffer_;
};

}  // namespace nine
