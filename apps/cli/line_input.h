// --flush: a program that another one talks to answers each line before it reads the next.
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
/// Whether lines are answered one by one: as --flush says, else where the program reads standard
/// input and that is a terminal. UsageError: --flush in several processes.
bool flushes(const Options& options, bool flush, bool reads_standard_input,
             const Communicator& communicator = one_process());

/// The lines of an input, all in one part or one by one as they come.
class LineInput {
 public:
  /// Reads all lines, which lines() then has, in every process; `one_by_one`: none yet. `spelled`
  /// counts every line that is read. Errors: TextReader's.
  LineInput(const std::string& input, bool one_by_one, Communicator& communicator,
            SpelledSpecials* spelled = nullptr);
  ~LineInput();
  LineInput(const LineInput&) = delete;
  LineInput& operator=(const LineInput&) = delete;

  /// Goes on to the next part; false after the last. One by one it waits for the next line's end.
  /// Errors: TextReader's.
  bool next();
  const std::vector<std::string>& lines() const { return lines_; }
  /// Lines before this part.
  int64_t first() const { return first_; }
  /// Lines in all parts so far.
  int64_t count() const { return first_ + static_cast<int64_t>(lines_.size()); }
  bool one_by_one() const { return reader_ != nullptr; }

 private:
  std::unique_ptr<TextReader> reader_;
  SpelledSpecials* spelled_;
  std::vector<std::string> lines_;
  int64_t first_ = 0;
  bool taken_ = false;
};

}  // namespace nine::app
