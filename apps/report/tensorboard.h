// A run's log as an event file of TensorBoard, written without TensorFlow or protobuf.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"

namespace nine::app {

/// One record in the TFRecord format (tensorflow/core/lib/io/record_writer.h): u64 length, masked
/// CRC-32C of those 8 bytes, the bytes, their masked CRC-32C; all little-endian.
std::string tensorboard_record(std::string_view data);

/// Messages of tensorflow/core/util/event.proto, serialized. `wall_time` is in seconds since 1970.
std::string tensorboard_version(double wall_time);
/// SessionLog START at `step`: TensorBoard drops what earlier files hold from that step on.
std::string tensorboard_start(double wall_time, int64_t step);
/// One number under a tag such as "valid/ppl".
std::string tensorboard_scalar(double wall_time, int64_t step, std::string_view tag, float value);
/// Markdown for the tab "Text".
std::string tensorboard_text(double wall_time, int64_t step, std::string_view tag,
                             std::string_view markdown);

/// What the event files of a directory show, as TensorBoard reads them.
struct BoardEvents {
  std::vector<std::string> others;  ///< names of event files that Nine did not write
  bool any = false;                 ///< true if Nine wrote an event file there
  /// The settings of the last text `run`: "seed", "resolved.parameters". Empty without the text.
  std::map<std::string, std::string> settings;
  /// The numbers of the tags train/nll and valid/nll, by tag and step.
  std::map<std::pair<std::string, int64_t>, float> numbers;
};
/// Reads the event files of a directory, which need not exist. A file that is cut or damaged is
/// read up to the damage.
BoardEvents read_events(const std::filesystem::path& directory);

/// Returns whose events they are if they are of another run than that of `config`: "its seed is 2,
/// and 1 in this run". Compared are settings that never change when a run resumes, and the numbers
/// of each step that `log`, the run's log.jsonl, has too. Empty if nothing differs.
std::string other_run_of(const BoardEvents& events, const Json& config,
                         const std::filesystem::path& log);
/// Moves them to `directory`/old-N, the first N that is free, and returns that path: TensorBoard
/// then shows them as a run of their own. An empty path where there are none.
std::filesystem::path move_events_away(const std::filesystem::path& directory);

/// Writes a run's event file: every number of the train, valid and test lines under EVENT/KEY,
/// lists such as pi_mean under EVENT/KEY/k (k from 1), and the run's configuration as the text
/// `run`.
class TensorBoard {
 public:
  /// Makes `directory` and a new event file in it, whose name sorts after those that are there.
  /// Throws Error when the file cannot be written, or when `directory` is in a run's checkpoints.
  TensorBoard(const std::filesystem::path& directory, const Json& config);

  /// Writes the lines of `log` (a log.jsonl; it may be absent) if the events of the directory lack
  /// a train or valid line of it, so that a run that starts to write event files late, or that
  /// wrote none for a time, appears as a whole: TensorBoard drops the events before. Returns how
  /// many of these lines were missing. To be called before event(). Throws Error when they cannot
  /// be written.
  int64_t catch_up(const std::filesystem::path& log);

  /// True if the directory had events of Nine's when this object was made.
  bool had_events() const { return before_.any; }

  /// Writes a line of log.jsonl. After `start` and `resume` TensorBoard drops what earlier files
  /// hold beyond that step, so that it shows nothing twice. Throws Error when the line cannot be
  /// written.
  void event(const Json& line);

 private:
  void numbers(const std::string& kind, const Json& line);
  void write(std::string_view message);

  std::filesystem::path file_;
  std::ofstream out_;
  std::string text_;    // the configuration as Markdown
  BoardEvents before_;  // what the directory had
  int64_t last_step_ = 0;
  double started_ = 0;  // when the run began, in seconds since 1970
};

}  // namespace nine::app
