// Text in and out of a program: --input and --output, where "-" is standard input and output.
#pragma once

#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/communicator.h"

namespace nine::app {

/// All lines of a file or of standard input; none of an empty one. Errors: TextReader's.
std::vector<std::string> read_lines(const std::string& input);
/// Rank 0's lines, in every process: no other one reads the input.
std::vector<std::string> read_lines(const std::string& input, Communicator& communicator);
/// The name of an input in errors: its path, or "standard input".
std::string input_name(const std::string& input);

/// A file on a command line: its flag and its path.
struct NamedFile {
  const char* flag;
  std::string path;
};
/// Whether both paths are one regular file, there or to be made. Standard streams ("-"), pipes and
/// devices, and empty paths, are not.
bool same_file(const std::string& a, const std::string& b);
/// UsageError: two inputs are one stream, such as standard input or a pipe, which can be read only
/// once. Empty paths are none.
void check_inputs(const std::vector<NamedFile>& inputs);
/// check_inputs(), and a UsageError where one of `outputs` is also an input or another output,
/// which would be lost, or a file of a training run or in a checkpoint. Outputs may be one standard
/// stream, pipe or device.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

/// Where this process writes what rank 0 alone writes: `path`, elsewhere nowhere.
std::string output_of(const std::string& path, const Communicator& communicator);

/// Writes a whole text: to standard output ("-"), or to a file as atomic_write_text() does. Error:
/// it cannot be written.
void write_whole(const std::string& path, std::string_view text);

/// A file to write, or standard output. An existing file keeps its content until the first text is
/// written, so that an earlier error loses nothing.
class TextOutput {
 public:
  /// Error: the file cannot be written.
  explicit TextOutput(const std::string& path);
  std::ostream& stream();
  /// Writes out what there is so far. Error: not all of it could be written.
  void flush();
  /// The last flush; a file to which nothing was written is empty then.
  void finish();

 private:
  // Opens its file when the first character is put into it.
  class LazyFile : public std::filebuf {
   public:
    explicit LazyFile(std::string path) : path_(std::move(path)) {}
    void open_now();

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;

   private:
    std::string path_;
  };

  std::string path_;
  LazyFile file_;
  std::ostream stream_;
};

}  // namespace nine::app
