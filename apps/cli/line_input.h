// --flush: the program answers each line before it reads the next line, for other programs that
// talk to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "core/communicator.h"

namespace nine {
class SpelledSpecials;
class TextReader;
}  // namespace nine

namespace nine::app {

/// Declares --flush.
void add_flush(Options& options, bool& flush);
/// True if lines are answered one by one: if --flush says so or, without --flush, if the program
/// reads standard input from a terminal. UsageError: --flush in several processes.
bool flushes(const Options& options, bool flush, bool reads_standard_input,
             const Communicator& communicator = one_process());

/// Reads the lines of an input, all in one part, or one by one as they come.
class LineInput {
 public:
  /// Reads all lines in every process, for lines(). With `one_by_one`, reads no line yet. `spelled`
  /// counts the words of every line. With `raw` the lines are those of a raw text, each with its
  /// LF, which the last line may lack. Errors: those of TextReader.
  LineInput(const std::string& input, bool one_by_one, Communicator& communicator,
            SpelledSpecials* spelled = nullptr, bool raw = false);
  ~LineInput();
  LineInput(const LineInput&) = delete;
  LineInput& operator=(const LineInput&) = delete;

  /// Goes to the next part. Returns false after the last part. With one_by_one(), waits for the end
  /// of the next line. Errors: those of TextReader.
  bool next();
  const std::vector<std::string>& lines() const { return lines_; }
  /// Returns the number of lines before this part.
  int64_t first() const { return first_; }
  /// Returns the number of lines in all parts so far.
  int64_t count() const { return first_ + static_cast<int64_t>(lines_.size()); }
  bool one_by_one() const { return reader_ != nullptr; }

 private:
  std::unique_ptr<TextReader> reader_;
  SpelledSpecials* spelled_;
  bool raw_;
  std::vector<std::string> lines_;
  int64_t first_ = 0;
  bool taken_ = false;
};

}  // namespace nine::app
