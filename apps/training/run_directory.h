// The directory of a run: its lock, its configuration, its log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/training/line_file.h"

namespace nine::app {

/// A run directory that this process alone may write, from construction to destruction:
/// config.json, log.jsonl, report.html, checkpoints/. The lock is flock's on DIR/.lock and ends
/// with the process, however that ends.
class RunDirectory {
 public:
  /// Makes the directory where there is none and locks it. Throws Error when it is no directory,
  /// cannot be made or written, or another process has it (its id is named). On a file system
  /// without locks it goes on without one.
  explicit RunDirectory(std::filesystem::path directory);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.json"; }
  std::filesystem::path log_file() const { return path_ / "log.jsonl"; }
  std::filesystem::path report_file() const { return path_ / "report.html"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

  /// Whether anything of a run is here: a configuration, a log or checkpoints.
  bool has_run() const;
  /// Whether the log's last line is "done".
  bool finished() const;

  /// The configuration that the run was started with. Throws Error when it is missing or broken.
  nlohmann::ordered_json read_config() const;
  /// Writes it, indented, all or nothing.
  void write_config(const nlohmann::ordered_json& config) const;

  /// Appends one event to the log as one line, in one write. Not-a-number becomes null.
  void log(const nlohmann::ordered_json& event);
  /// The log's last whole event, null when there is none.
  nlohmann::ordered_json last_event() const;
  /// Cuts the log back to a checkpoint: drops events after `step`, the closing "test" and "done",
  /// "resume" at `step` itself (the caller writes a new one, so that resuming twice leaves the same
  /// log as once), lines that are no JSON object and a half-written last one. Lines without a step
  /// share the fate of the line before them. All or nothing; without a log it does nothing.
  void cut_log(int64_t step);

  /// Clears the way for a new run: moves an old run's checkpoints, report, log and configuration
  /// (and `more` names) to DIR/old-N, the first N that is free, and returns that path; an empty
  /// path when there was no run. Nothing is deleted. Call it when the new configuration and its
  /// data have been checked.
  std::filesystem::path restart(const std::vector<std::string>& more = {});

 private:
  void make() const;
  void lock();

  std::filesystem::path path_;
  int lock_ = -1;
  LineFile log_;
};

/// The configuration keys that may differ when a run goes on: after, threads, keep, save_every,
/// profile, and run, restart and tensorboard, which are not about the run itself.
const std::vector<std::string>& keys_free_on_resume();

/// What keeps a run from going on with other options: "--hidden was 512 in this run, now 256; ...;
/// use --restart or another --run", empty when nothing does. Compares the keys of `now`. One that
/// `stored` lacks (the run is of an older version) must have its value in `defaults`, or is passed
/// over when that lacks it too; keys of `stored` alone are not compared.
std::string compare_configs(const nlohmann::ordered_json& stored, const nlohmann::ordered_json& now,
                            const std::vector<std::string>& free_keys,
                            const nlohmann::ordered_json& defaults);

}  // namespace nine::app
