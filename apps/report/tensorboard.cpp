#include "apps/report/tensorboard.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/cli/output_directory.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/json.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

template <class T>
void append_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

// TensorFlow's mask, because the CRC of data that contains CRCs is weak
// (tensorflow/core/lib/hash/crc32c.h).
uint32_t masked_crc(std::string_view data) {
  return std::rotr(crc32c(0, data.data(), data.size()), 15) + 0xa282ead8U;
}

// A protobuf message: fields in the wire format of protobuf.dev/programming-guides/encoding.
class Message {
 public:
  Message& integer(int field, int64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& float64(int field, double value) {
    varint(static_cast<uint64_t>(field) << 3 | 1);
    append_little_endian(bytes_, std::bit_cast<uint64_t>(value));
    return *this;
  }
  Message& float32(int field, float value) {
    varint(static_cast<uint64_t>(field) << 3 | 5);
    append_little_endian(bytes_, std::bit_cast<uint32_t>(value));
    return *this;
  }
  Message& bytes(int field, std::string_view value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return bytes(field, value.bytes_); }
  const std::string& serialized() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// Event: wall_time = 1, step = 2; then one of file_version = 3, summary = 5, session_log = 7.
Message event_at(double wall_time, int64_t step) {
  Message event;
  event.float64(1, wall_time);
  if (step != 0) event.integer(2, step);
  return event;
}

// Summary: value = 1.
std::string summary(double wall_time, int64_t step, const Message& value) {
  return event_at(wall_time, step).message(5, Message().message(1, value)).serialized();
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::string_view kPrefix = "events.out.tfevents.", kOwnEnd = ".nine";

// The event files of a directory that Nine wrote.
std::vector<fs::path> own_events(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kOwnEnd)) files.push_back(it->path());
  }
  return files;
}

// The largest number after the prefix in the names of event files. Readers sort the files by name,
// so a later file needs a larger number.
int64_t largest_stamp(const fs::path& directory) {
  int64_t largest = 0;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    int64_t stamp = 0;
    if (name.starts_with(kPrefix))
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), stamp);
    largest = std::max(largest, stamp);
  }
  return largest;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0 ? std::string(name.data())
                                                                        : "localhost";
}

void append_rows(const Json& object, const std::string& prefix, std::string& out) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      append_rows(value, prefix + key + ".", out);
      continue;
    }
    out += concat("| ", prefix, key, " | ");
    for (const char c : value.is_string() ? value.get<std::string>() : json_text(value))
      out += c == '|' ? "\\|" : std::string(1, c);
    out += " |\n";
  }
}

// JSON has no NaN: the log has null there.
double number_of(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

bool is_number(const Json& value) { return value.is_number() || value.is_null(); }

}  // namespace

bool holds_events(const fs::path& directory) { return !own_events(directory).empty(); }

fs::path move_events_away(const fs::path& directory) {
  const std::vector<fs::path> files = own_events(directory);
  if (files.empty()) return {};
  std::error_code error;
  int n = 1;
  while (fs::exists(directory / concat("old-", n), error)) ++n;
  fs::path old = directory / concat("old-", n);
  fs::create_directory(old, error);
  for (const fs::path& file : files)
    if (!error) fs::rename(file, old / file.filename(), error);
  require(!error, "--tensorboard: the events in ", directory.string(), " cannot be moved to ",
          old.string(), ": ", error.message(), "; give another --tensorboard");
  return old;
}

std::string tensorboard_record(std::string_view data) {
  std::string out;
  append_little_endian(out, static_cast<uint64_t>(data.size()));
  append_little_endian(out, masked_crc(out));
  out += data;
  append_little_endian(out, masked_crc(data));
  return out;
}

std::string tensorboard_version(double wall_time) {
  return event_at(wall_time, 0).bytes(3, "brain.Event:2").serialized();
}

std::string tensorboard_start(double wall_time, int64_t step) {
  return event_at(wall_time, step)
      .message(7, Message().integer(1, 1))  // SessionLog: status = 1, START = 1
      .serialized();
}

std::string tensorboard_scalar(double wall_time, int64_t step, std::string_view tag, float value) {
  // Value: tag = 1, simple_value = 2.
  return summary(wall_time, step, Message().bytes(1, tag).float32(2, value));
}

// Value: tensor = 8, metadata = 9.
// TensorProto: dtype = 1 (DT_STRING = 7), tensor_shape = 2 { dim = 2 { size = 1 } }, string_val
// = 8. SummaryMetadata: plugin_data = 1 { plugin_name = 1 }.
std::string tensorboard_text(double wall_time, int64_t step, std::string_view tag,
                             std::string_view markdown) {
  const Message shape = Message().message(2, Message().integer(1, 1));
  const Message tensor = Message().integer(1, 7).message(2, shape).bytes(8, markdown);
  const Message metadata = Message().message(1, Message().bytes(1, "text"));
  return summary(wall_time, step, Message().bytes(1, tag).message(8, tensor).message(9, metadata));
}

TensorBoard::TensorBoard(const fs::path& directory, const Json& config)
    : text_("| setting | value |\n|---|---|\n") {
  append_rows(config, "", text_);
  require_outside_of_checkpoints("--tensorboard", directory);
  make_output_directory("--tensorboard", directory);
  const int64_t before = largest_stamp(directory);
  std::array<char, 32> stamp{};
  std::snprintf(stamp.data(), stamp.size(), "%010lld",
                static_cast<long long>(std::max(static_cast<int64_t>(now()), before + 1)));
  file_ = directory / concat(kPrefix, stamp.data(), ".", host_name(), ".", getpid(), kOwnEnd);
  out_.open(file_, std::ios::binary);
  started_ = now();
  write(tensorboard_version(started_));
  first_ = before == 0;
}

void TensorBoard::catch_up(const fs::path& log) {
  if (!first_) return;
  std::ifstream in(log, std::ios::binary);
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);)
    if (Json event = parse_json_object(line); event.is_object()) lines.push_back(std::move(event));
  if (lines.empty()) return;
  started_ -= lines.back().value("time_s", 0.0);
  for (const Json& line : lines) event(line);
}

void TensorBoard::event(const Json& line) {
  const auto kind = line.value("event", std::string());
  const auto step = line.value("step", int64_t{0});
  const double seconds = line.value("time_s", 0.0);
  if (kind == "start" || kind == "resume") {
    last_step_ = step;
    started_ = std::min(started_, now() - seconds);
    write(tensorboard_start(started_ + seconds, kind == "start" ? 0 : step + 1));
  }
  if (kind == "start") write(tensorboard_text(started_, 0, "run", text_));
  if (kind == "train" || kind == "valid" || kind == "test") numbers(kind, line);
}

// A test line's step is that of the best model, which may be older than a resume; the event gets
// the last step, at which the test was made.
void TensorBoard::numbers(const std::string& kind, const Json& line) {
  last_step_ = std::max(last_step_, line.value("step", int64_t{0}));
  const double time = started_ + line.value("time_s", 0.0);
  const auto scalar = [&](const std::string& tag, const Json& value) {
    write(tensorboard_scalar(time, last_step_, tag, static_cast<float>(number_of(value))));
  };
  for (const auto& [key, value] : line.items()) {
    if (key == "event" || key == "step" || key == "time_s") continue;
    if (is_number(value)) scalar(concat(kind, "/", key), value);
    if (value.is_array() && std::all_of(value.begin(), value.end(), is_number))
      for (size_t k = 0; k < value.size(); ++k)
        scalar(concat(kind, "/", key, "/", k + 1), value[k]);
  }
}

// Flushed at once, for a TensorBoard that reads during training.
void TensorBoard::write(std::string_view message) {
  const std::string record = tensorboard_record(message);
  out_.write(record.data(), static_cast<std::streamsize>(record.size()));
  out_.flush();
  require(out_.good(), "--tensorboard: cannot write '", file_.string(),
          "': ", std::strerror(errno));
}

}  // namespace nine::app
