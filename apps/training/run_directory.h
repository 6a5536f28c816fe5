// The directory of a run: its lock, its configuration, its log (docs/formats.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "apps/training/line_file.h"
#include "core/json.h"

namespace nine::app {

/// The configuration that the run in a directory was started with. Error: it is missing or broken.
/// The message names the copy in the latest checkpoint, if that is there.
Json read_run_config(const std::filesystem::path& run);

/// The program that trained the run of a configuration, by its keys: lm_train or mt_train; empty if
/// they do not show it.
std::string_view trainer_of(const Json& config);

/// A run directory that this process alone may write, from construction to destruction:
/// config.json, log.jsonl, report.html, checkpoints/. The lock is flock's on DIR/.lock and ends
/// with the process, however that ends.
class RunDirectory {
 public:
  /// Makes the directory where there is none and locks it. Throws Error when it is no directory,
  /// cannot be made or written, lies within a run's checkpoints, or another process has it (its id
  /// is named). On a file system
  /// without locks no lock is taken. A finished run that may only be read can be opened too.
  explicit RunDirectory(std::filesystem::path directory);
  ~RunDirectory();
  /// Whether its files may be written.
  bool writable() const { return write_error_ == 0; }
  /// Throws Error unless they may.
  void require_writable() const {
    if (!writable()) fail_unwritable();
  }
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.json"; }
  std::filesystem::path log_file() const { return path_ / "log.jsonl"; }
  std::filesystem::path report_file() const { return path_ / "report.html"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

  /// Whether anything of a run is here: a configuration, a log or checkpoints.
  bool has_run() const { return holds_run(path_); }
  /// The same of a directory that is not opened, which need not exist.
  static bool holds_run(const std::filesystem::path& directory);
  /// Whether the log's last line is "done".
  bool finished() const;

  Json read_config() const;
  /// Writes it, indented, all or nothing.
  void write_config(const Json& config) const;

  /// Appends one event to the log as one line, in one write. Not-a-number becomes null.
  void log(const Json& event);
  /// The log's last whole event, null when there is none.
  Json last_event() const;
  /// Cuts the log back to a checkpoint, before the run is resumed from there. Removed are
  ///  - events after `step`;
  ///  - "resume" at `step` itself: the caller writes a new one, so that the log is the same however
  ///    often the run was resumed there;
  ///  - "test" and "done", which the run writes again at its end;
  ///  - lines that are no JSON object, and a half-written last line.
  /// A line without a step is kept or removed as the line with a step before it. The log is
  /// replaced in one step; without a log nothing is done.
  void cut_log(int64_t step);
  /// How many of the updates up to `step` no "train" line of the log covers; each covers
  /// `log_every` updates up to its own. The log is half a log where it was removed or lines of it
  /// were.
  int64_t updates_not_logged(int64_t step, int64_t log_every) const;

  /// True if the log shows that the run has written a checkpoint: it goes on after a validation,
  /// has a start from a checkpoint, or the end.
  bool had_checkpoint() const;

  /// Clears the way for a new run: moves an old run's checkpoints, report, log and configuration
  /// (and `more` names) to DIR/old-N, the first N that is free, and returns that path; an empty
  /// path when there was no run. Nothing is deleted. Call it when the new configuration and its
  /// data have been checked.
  std::filesystem::path restart(const std::vector<std::string>& more = {});

 private:
  void lock();
  [[noreturn]] void fail_unwritable() const;

  std::filesystem::path path_;
  int lock_ = -1;
  int write_error_ = 0;  // the system's error where the directory may only be read
  LineFile log_;
};

}  // namespace nine::app
