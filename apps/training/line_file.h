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
  void open(const std::filesystem::path& file);
  /// Hands `line` and a newline to the system at once. Throws Error when they do not fit; then
  /// nothing of them stays.
  void append(std::string_view line);
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace nine::app
