// Progress of the work: a line updated in place on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "apps/cli/processes.h"

namespace nine::app {

/// Where and how often Progress writes.
struct ProgressSettings {
  std::FILE* out = stderr;
  double seconds_between_lines = 10;   ///< when `out` is no terminal
  double seconds_between_draws = 0.1;  ///< when it is one
  std::function<double()> clock = {};  ///< seconds; a monotonic clock by default
  /// Nothing is written: by default in the processes of mpirun that are not the first.
  bool silent = !first_process();
};

/// One task with its rate and time left. On a terminal a bar redrawn in place; elsewhere a
/// line now and then, and one at finish(). Not for several threads at once.
class Progress {
 public:
  /// `title` begins each line ("train"), `unit` is what is counted ("updates").
  explicit Progress(std::string title, std::string unit, ProgressSettings settings = {});
  /// Ends an unfinished bar's line, so that what follows (an error) starts on its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `total` (0: unknown) are done, with `text` such as the loss. Cheap when it is not
  /// yet time to write.
  void update(int64_t done, int64_t total, std::string_view text = {});
  /// Prints a line that stays, above the bar where there is one.
  void message(std::string_view line);
  /// Writes the last state at once and ends the line. Does nothing without an earlier update().
  void finish();

 private:
  // The rate is that of the last quarter to half minute: from `from_` on, which `next_` replaces
  // when it is old enough.
  struct Anchor {
    double time = 0;
    int64_t done = 0;
  };

  double now() const { return settings_.clock(); }
  void count(int64_t done, double time);
  double rate() const;   // per second
  double share() const;  // done, 0 to 1; 0 where the total is unknown
  std::string numbers() const;
  std::string bar_line() const;
  std::string plain_line() const;
  void draw();
  void erase();

  std::string title_, unit_, text_;
  ProgressSettings settings_;
  bool live_ = false;
  bool started_ = false;
  bool drawn_ = false;  // the bar stands on the current line
  bool finished_ = false;
  int64_t done_ = 0, total_ = 0;
  double time_ = 0, written_at_ = 0;
  Anchor first_, from_, next_;
};

}  // namespace nine::app
