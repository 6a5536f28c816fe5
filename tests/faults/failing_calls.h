// Short runs of our programs in which one call after another fails: an allocation, or what needs
// room on a disk (tests/faults/fail_calls.cpp).
#pragma once

#include <string>
#include <vector>

#include "tests/support/programs.h"

namespace nine::tests {

/// A short run in a directory of its own. Results are the files `results`, and the checkpoints of
/// the run directory `run` if it trains.
struct ShortRun {
  std::string program;
  std::vector<std::string> arguments, results = {};
  bool trains = false;
};

/// A text, codes for it, and models of each kind.
struct ShortRuns : TemporaryDirectory {
  std::string text = write("text", "a b c\nb a\nc c a b\na a\n"), codes = *this / "codes",
              lists = write("lists", "u1\t-1\ta b c\nu1\t-2\ta b a\nu2\t-1\tb a\n"),
              said = write("said", "u1\ta b a\nu2\tb a\n");

  ShortRuns();
  ShortRun lm_train(const std::string& run = "run") const;
  ShortRun mt_train(const std::string& run = "run") const;
  ShortRun learn(const std::string& to) const;
  /// Programs that use models and text, with what they write.
  std::vector<ShortRun> users() const;
};

/// Which calls fail, and how a program that could not do without says so.
struct Failing {
  std::string kind;                  ///< tests/faults/fail_calls.cpp: allocation, write, disk, kill
  std::vector<std::string> reasons;  ///< one of them stands in the error; none: the call kills
  long least_calls = 1;              ///< that a run makes
  bool cuts_results = false;         ///< a result may be a beginning of the whole
  int continued = 1;                 ///< of so many failed training runs one is gone on with
};

/// Checks the run with each of its calls failing in turn: the program exits with 1 and a reason, or
/// does without; it never ends by a signal of its own, and leaves nothing half-written; a training
/// run goes on to the whole run's weights. With `sampled` only some calls fail: with
/// NINE_ALLOCATIONS=I/N every N-th, from the I-th on (`make allocations` sets it), else every
/// seventeenth, from another one on each minute.
void check_every_call(const ShortRun& run, const Failing& failing, bool sampled);

}  // namespace nine::tests
