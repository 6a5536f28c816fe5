// A file written from front to back, with its checksum.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "core/file_digest.h"

namespace nine {

/// Writes one file and computes its digest on the way. Every call throws an Error that names the
/// file when the system refuses (no space left, no permission, ...).
class OutputFile {
 public:
  /// Creates the file or empties it.
  explicit OutputFile(std::filesystem::path file);
  /// Closes the file; it may be incomplete unless finish() was called.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, size_t size);
  /// Writes what is buffered, waits until the disk has it (fsync), and closes.
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
