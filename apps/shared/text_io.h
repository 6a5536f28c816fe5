// Text in and out of a program: --input and --output, where "-" is standard input and output.
#pragma once

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

namespace nine::app {

/// All lines of a file or of standard input. Errors: LineReader's.
std::vector<std::string> read_lines(const std::string& input);
/// What errors call an input: its path, or "standard input".
std::string input_name(const std::string& input);

/// A file to write, or standard output.
class TextOutput {
 public:
  /// Error: the file cannot be written.
  explicit TextOutput(const std::string& path);
  std::ostream& stream();
  /// Writes out what is left. Error: not all of it could be written.
  void finish();

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace nine::app
