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
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
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

// The event files of a directory, in the order in which readers take them: those that Nine wrote,
// or the others.
std::vector<fs::path> event_files(const fs::path& directory, bool own) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kOwnEnd) == own) files.push_back(it->path());
  }
  std::ranges::sort(files);
  return files;
}

// Reads numbers and fields of protobuf's wire format from the front of bytes.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Moves to the next field: its number, and its value as a number or as bytes. Returns false at
  // the end and where the bytes are damaged.
  bool next(int& field, uint64_t& number, std::string_view& bytes) {
    uint64_t key = 0;
    if (rest_.empty() || !varint(key)) return false;
    field = static_cast<int>(key >> 3);
    number = 0;
    bytes = {};
    uint64_t size = 0;
    switch (key & 7) {
      case 0:
        return varint(number);
      case 1:
        size = 8;
        break;
      case 2:
        if (!varint(size)) return false;
        break;
      case 5:
        size = 4;
        break;
      default:
        return false;
    }
    if (size > rest_.size()) return false;
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::string_view rest_;
};

// Calls take(field, number, bytes) for each field of a message.
template <class F>
void for_each_field(std::string_view message, F take) {
  WireReader reader(message);
  int field = 0;
  uint64_t number = 0;
  for (std::string_view bytes; reader.next(field, number, bytes);) take(field, number, bytes);
}

template <class T>
T little_endian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof value && i < bytes.size(); ++i)
    value |= static_cast<T>(static_cast<T>(static_cast<uint8_t>(bytes[i])) << (8 * i));
  return value;
}

// The rows `| setting | value |` of the text `run`.
std::map<std::string, std::string> settings_of(std::string_view markdown) {
  std::map<std::string, std::string> out;
  while (!markdown.empty()) {
    const size_t end = std::min(markdown.find('\n'), markdown.size() - 1);
    std::string_view row = markdown.substr(0, end);
    markdown.remove_prefix(end + 1);
    const size_t middle = row.find(" | ", 2);
    if (!row.starts_with("| ") || !row.ends_with(" |") || middle == std::string_view::npos)
      continue;
    const std::string_view value = row.substr(middle + 3);
    out[std::string(row.substr(2, middle - 2))] = value.substr(0, value.size() - 2);
  }
  return out;
}

// Adds an event's message to what a directory shows.
void add_event(std::string_view message, BoardEvents& out) {
  int64_t step = 0;
  bool starts = false;
  std::string_view summary_bytes;
  for_each_field(message, [&](int field, uint64_t number, std::string_view bytes) {
    if (field == 2) step = static_cast<int64_t>(number);
    if (field == 5) summary_bytes = bytes;
    if (field == 7)
      for_each_field(bytes, [&](int f, uint64_t status, std::string_view) {
        starts = starts || (f == 1 && status == 1);
      });
  });
  if (starts)
    std::erase_if(out.numbers, [&](const auto& entry) { return entry.first.second >= step; });
  for_each_field(summary_bytes, [&](int field, uint64_t, std::string_view value) {
    if (field != 1) return;
    std::string tag;
    for_each_field(value, [&](int f, uint64_t, std::string_view bytes) {
      if (f == 1) tag = bytes;
      if (f == 2 && (tag == "train/nll" || tag == "valid/nll"))
        out.numbers[{tag, step}] = std::bit_cast<float>(little_endian<uint32_t>(bytes));
      if (f == 8 && tag == "run")
        for_each_field(bytes, [&](int of_tensor, uint64_t, std::string_view text) {
          if (of_tensor == 8) out.settings = settings_of(text);
        });
    });
  });
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

BoardEvents read_events(const fs::path& directory) {
  BoardEvents out;
  for (const fs::path& file : event_files(directory, false))
    out.others.push_back(file.filename().string());
  for (const fs::path& file : event_files(directory, true)) {
    out.any = true;
    std::ifstream in(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    constexpr size_t kHead = 12, kFrame = 16;  // length and its CRC; and the CRC behind the data
    for (std::string_view rest = bytes; rest.size() >= kFrame;) {
      const auto size = little_endian<uint64_t>(rest);
      if (size > rest.size() - kFrame) break;
      const std::string_view data = rest.substr(kHead, size);
      if (little_endian<uint32_t>(rest.substr(kHead + size)) != masked_crc(data)) break;
      add_event(data, out);
      rest.remove_prefix(kFrame + size);
    }
  }
  return out;
}

namespace {

// The nats of the train and valid lines of a log, by tag and step. A step that was validated twice
// has both.
std::multimap<std::pair<std::string, int64_t>, float> numbers_of_log(const fs::path& log) {
  std::multimap<std::pair<std::string, int64_t>, float> out;
  std::ifstream in(log, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    const Json event = parse_json_object(line);
    if (!event.is_object()) continue;
    const auto kind = event.value("event", Json()), step = event.value("step", Json()),
               nll = event.value("nll", Json());
    if ((kind == "train" || kind == "valid") && step.is_number_integer() && nll.is_number())
      out.insert({{concat(kind.get<std::string>(), "/nll"), step.get<int64_t>()},
                  static_cast<float>(nll.get<double>())});
  }
  return out;
}

}  // namespace

std::string other_run_of(const BoardEvents& events, const Json& config, const fs::path& log) {
  std::string text;
  append_rows(config, "", text);
  const auto own = settings_of(text);
  std::vector<std::string> keys{"seed", "lr", "head", "hidden", "layers", "resolved.parameters"};
  constexpr std::string_view kOfInput = "resolved.identity.";
  for (const auto& [key, value] : events.settings)
    if (key.starts_with(kOfInput) && !key.ends_with(".init")) keys.push_back(key);
  for (const std::string& key : keys) {
    const auto was = events.settings.find(key), is = own.find(key);
    if (was == events.settings.end() || is == own.end() || was->second == is->second) continue;
    return concat(key.starts_with(kOfInput)
                      ? concat("the checksum of its --", key.substr(kOfInput.size()))
                      : concat("its ", key),
                  " is ", was->second, ", and ", is->second, " in this run");
  }
  const auto logged = numbers_of_log(log);
  for (const auto& [place, value] : events.numbers) {
    const auto [begin, end] = logged.equal_range(place);
    if (begin == end) continue;
    if (std::none_of(begin, end, [&, x = value](const auto& entry) { return entry.second == x; }))
      return concat("its ", place.first, " of step ", place.second, " is ", value, ", and ",
                    begin->second, " in ", log.string());
  }
  return {};
}

fs::path move_events_away(const fs::path& directory) {
  const std::vector<fs::path> files = event_files(directory, true);
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
  before_ = read_events(directory);
  const int64_t before = largest_stamp(directory);
  std::array<char, 32> stamp{};
  std::snprintf(stamp.data(), stamp.size(), "%010lld",
                static_cast<long long>(std::max(static_cast<int64_t>(now()), before + 1)));
  file_ = directory / concat(kPrefix, stamp.data(), ".", host_name(), ".", getpid(), kOwnEnd);
  out_.open(file_, std::ios::binary);
  started_ = now();
  write(tensorboard_version(started_));
}

int64_t TensorBoard::catch_up(const fs::path& log) {
  std::set<std::pair<std::string, int64_t>> missing;
  for (const auto& [place, value] : numbers_of_log(log))
    if (!before_.numbers.contains(place)) missing.insert(place);
  if (missing.empty() && before_.any) return 0;
  std::ifstream in(log, std::ios::binary);
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);)
    if (Json event = parse_json_object(line); event.is_object()) lines.push_back(std::move(event));
  if (lines.empty()) return 0;
  started_ -= lines.back().value("time_s", 0.0);
  if (before_.any && lines.front().value("event", Json()) != "start")
    write(tensorboard_start(started_, 0));
  for (const Json& line : lines) event(line);
  return std::ssize(missing);
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
    if (value.is_object())
      for (const auto& [name, part] : value.items())
        if (is_number(part)) scalar(concat(kind, "/", key, "/", name), part);
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
