// Reads and writes the texts of --input and --output, where "-" is standard input and standard
// output.
#pragma once

#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/communicator.h"

namespace nine::app {

/// True if each line is `number ||| words ||| ... ||| score`, as mt_translate and Moses write
/// n-best lists.
bool is_n_best_list(const std::vector<std::string>& lines);

/// Returns all lines of a file or of standard input; no lines if it is empty. Errors: those of
/// TextReader.
std::vector<std::string> read_lines(const std::string& input);
/// Returns the lines in every process; only rank 0 reads the input.
std::vector<std::string> read_lines(const std::string& input, Communicator& communicator);
/// Returns the lines of a raw text (kRawText), each with its LF, which the last may lack. Only rank
/// 0 reads the input.
std::vector<std::string> read_raw_lines(const std::string& input, Communicator& communicator);
/// Returns the name of an input in errors: its path, or "standard input".
inline std::string input_name(const std::string& input) {
  return input == "-" ? "standard input" : input;
}

/// A file on a command line: its flag and its path.
struct NamedFile {
  const char* flag;
  std::string path;
  bool packs = false;  ///< an output that the program packs if its name ends with .gz
};
/// True if both paths are the same regular file, which need not exist yet. False for standard
/// streams ("-"), pipes, devices and empty paths.
bool same_file(const std::string& a, const std::string& b);
/// Checks inputs. UsageError: two inputs are the same stream, such as standard input or a pipe,
/// which can be read only once. Empty paths do not count.
void check_inputs(const std::vector<NamedFile>& inputs);
/// Calls check_inputs(), and throws a UsageError if one of `outputs` is also an input or another
/// output, which would be lost, or if it is a file of a training run or in a checkpoint. Several
/// outputs may be the same standard stream, pipe or device.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

/// Returns the output of this process for text that only rank 0 writes: `path` in rank 0, /dev/null
/// in the other processes.
std::string output_of(const std::string& path, const Communicator& communicator);

/// Writes a whole text to standard output ("-"), or to a file as atomic_write_text() does. Error:
/// the text cannot be written.
void write_whole(const std::string& path, std::string_view text);

/// An output: a file, or standard output. An existing file keeps its content until the first text
/// is written, so that an earlier error loses nothing.
class TextOutput {
 public:
  /// Error: the file cannot be written.
  explicit TextOutput(const std::string& path);
  std::ostream& stream();
  /// Writes the text so far to the file. Error: the text could not be written completely.
  void flush();
  /// Flushes for the last time. A file to which nothing was written is then empty.
  void finish();

 private:
  // Opens the file when the first character is written.
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
