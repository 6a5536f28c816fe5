// A log that grows by whole lines.
#pragma once

#include <filesystem>
#include <string_view>

namespace nine::app {

/// A text file that grows by whole lines.
class LineFile {
 public:
  LineFile() = default;
  ~LineFile() { close(); }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  /// Opens for appending, makes the file where there is none, and drops a half-written last line.
  /// Throws Error when the file cannot be opened or cut.
  void open(const std::filesystem::path& file);
  /// Writes `line` and a newline to the open file at once, without a buffer. Throws Error when they
  /// do not fit on the disk, with nothing of them left in the file, or when the file was removed.
  void append(std::string_view line);
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace nine::app
