// A run's log as an event file of TensorBoard, written without TensorFlow or protobuf.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

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

/// Whether a directory has event files that Nine wrote.
bool holds_events(const std::filesystem::path& directory);
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

  /// Where `directory` had no event file, writes the lines of `log` (a log.jsonl; it may be
  /// absent), so that a run that starts to write event files late appears from its beginning. To be
  /// called before event(). Throws Error when they cannot be written.
  void catch_up(const std::filesystem::path& log);

  /// Writes a line of log.jsonl. After `start` and `resume` TensorBoard drops what earlier files
  /// hold beyond that step, so that it shows nothing twice. Throws Error when the line cannot be
  /// written.
  void event(const Json& line);

 private:
  void numbers(const std::string& kind, const Json& line);
  void write(std::string_view message);

  std::filesystem::path file_;
  std::ofstream out_;
  std::string text_;  // the configuration as Markdown
  bool first_;        // of the directory's event files
  int64_t last_step_ = 0;
  double started_ = 0;  // when the run began, in seconds since 1970
};

}  // namespace nine::app
