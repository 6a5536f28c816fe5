// Shows the progress of work: a line that is updated in place on a terminal, otherwise plain lines.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "apps/cli/processes.h"

namespace nine::app {

/// Settings of Progress: where and how often it writes.
struct ProgressSettings {
  std::FILE* out = stderr;
  double seconds_between_lines = 10;   ///< if `out` is not a terminal
  double seconds_between_draws = 0.1;  ///< if `out` is a terminal
  std::function<double()> clock = {};  ///< seconds; a monotonic clock by default
  /// True: nothing is written. By default, true in all processes of mpirun except the first.
  bool silent = !first_process();
};

/// Shows one task with its rate and time left: on a terminal, a bar that is redrawn in place;
/// otherwise a line now and then, and a line at finish(). Only one thread may use it at a time.
class Progress {
 public:
  /// `title` begins each line ("train"). `unit` names what is counted ("updates").
  explicit Progress(std::string title, std::string unit, ProgressSettings settings = {});
  /// Ends the line of an unfinished bar, so that following text, such as an error, starts on a new
  /// line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Says that `done` of `total` (0: unknown) are done; `text` may hold the loss. A call is cheap
  /// until it is time to write.
  void update(int64_t done, int64_t total, std::string_view text = {});
  /// Prints a line that stays, above the bar if there is a bar.
  void message(std::string_view line);
  /// Writes the last state at once and ends the line. Does nothing without an earlier update().
  void finish();

 private:
  // The rate is measured over the last 15 to 30 seconds: from `from_` on, which `next_` replaces
  // when `next_` is old enough.
  struct Anchor {
    double time = 0;
    int64_t done = 0;
  };

  double now() const { return settings_.clock(); }
  void count(int64_t done, double time);
  double rate() const;   // per second
  double share() const;  // the share that is done, 0 to 1; 0 if the total is unknown
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
