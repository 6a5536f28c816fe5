// Event files for TensorBoard: recorded bytes, and what a run leaves behind. TensorBoard's own
// reader: tests/clients/tensorboard_check.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/report/tensorboard.h"
#include "core/crc32c.h"
#include "core/json.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_tensorboard {
namespace {

using namespace nine::app;
namespace fs = std::filesystem;

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    out +=
        {kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]};
  }
  return out;
}

uint32_t masked(const std::string& bytes) {
  const uint32_t crc = crc32c(0, bytes.data(), bytes.size());
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

template <class T>
T number_at(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The messages of an event file, their checksums checked.
std::vector<std::string> records(const fs::path& file) {
  const std::string bytes = slurp(file);
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size();) {
    const auto length = number_at<uint64_t>(bytes, at);
    REQUIRE(at + 16 + length <= bytes.size());
    CHECK(number_at<uint32_t>(bytes, at + 8) == masked(bytes.substr(at, 8)));
    out.push_back(bytes.substr(at + 12, length));
    CHECK(number_at<uint32_t>(bytes, at + 12 + length) == masked(out.back()));
    at += 16 + length;
  }
  return out;
}

std::vector<fs::path> event_files(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Reads protobuf's wire format: the numbers of fields with their bytes.
using Fields = std::multimap<int, std::string>;
uint64_t varint(const std::string& bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}
Fields fields(const std::string& bytes) {
  Fields out;
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t key = varint(bytes, at);
    const int type = static_cast<int>(key & 7);
    const size_t begin = at;
    if (type == 0) {
      varint(bytes, at);
      out.emplace(key >> 3, bytes.substr(begin, at - begin));
      continue;
    }
    REQUIRE((type == 1 || type == 2 || type == 5));
    const size_t size = type == 1 ? 8 : type == 5 ? 4 : varint(bytes, at);
    out.emplace(key >> 3, bytes.substr(at, size));
    at += size;
  }
  return out;
}
const std::string& field(const Fields& all, int number) {
  const auto found = all.find(number);
  REQUIRE(found != all.end());
  return found->second;
}

// What TensorBoard shows of a directory's scalars: tag, then step, then values (one where nothing
// stands twice).
using Scalars = std::map<std::string, std::map<int64_t, std::vector<float>>>;
Scalars scalars(const fs::path& directory) {
  Scalars out;
  for (const fs::path& file : event_files(directory))
    for (const std::string& record : records(file)) {
      const Fields event = fields(record);
      size_t at = 0;
      const int64_t step =
          event.contains(2) ? static_cast<int64_t>(varint(field(event, 2), at)) : 0;
      if (event.contains(7))  // SessionLog START: what is at this step and later goes
        for (auto& [tag, steps] : out) steps.erase(steps.lower_bound(step), steps.end());
      if (!event.contains(5)) continue;
      const Fields value = fields(field(fields(field(event, 5)), 1));
      if (value.contains(2))
        out[field(value, 1)][step].push_back(number_at<float>(field(value, 2), 0));
    }
  return out;
}

}  // namespace

// Recorded from tensorboard 2.21.0's own classes: tests/clients/tensorboard_check.py --record.
TEST_CASE("tensorboard: messages are byte for byte those of TensorBoard's own classes") {
  CHECK(hex(tensorboard_record("abc")) == "0300000000000000b099490e6162636e57f121");
  CHECK(hex(tensorboard_version(1.5)) == "09000000000000f83f1a0d627261696e2e4576656e743a32");
  CHECK(hex(tensorboard_start(1.5, 300)) == "09000000000000f83f10ac023a020801");
  CHECK(hex(tensorboard_scalar(2.5, 70000, "valid/ppl", 18.25F)) ==
        "09000000000000044010f0a2042a120a100a0976616c69642f70706c1500009241");
  CHECK(hex(tensorboard_text(2.5, 0, "run", "| a | b |")) ==
        "0900000000000004402a260a240a0372756e4213080712041202080142097c2061207c2062207c4a080a060a04"
        "74657874");
}

TEST_CASE("tensorboard: a log's numbers, lists and configuration") {
  const TemporaryDirectory dir;
  TensorBoard board(dir / "tb",
                    {{"head", "mix:lin,rbf"}, {"odd", "a|b"}, {"model", {{"layers", 2}}}});
  board.event({{"event", "start"}, {"step", 0}, {"vocab", 5}});
  board.event({{"event", "train"},
               {"step", 10},
               {"time_s", 3.0},
               {"loss", 2.5},
               {"text", "no number"},
               {"head_skip", {{"tiles", 0.25}, {"why", "text"}}}});
  board.event({{"event", "valid"},
               {"step", 20},
               {"time_s", 5.0},
               {"ppl", nullptr},
               {"pi_mean", {0.75, 0.25}}});
  board.event({{"event", "test"}, {"step", 10}, {"time_s", 6.0}, {"ppl", 8}});
  board.event({{"event", "done"}, {"step", 20}, {"best_valid_ppl", 7.5}});
  REQUIRE(event_files(dir / "tb").size() == 1);
  const Scalars got = scalars(dir / "tb");
  CHECK(got.size() == 6);
  CHECK(got.at("train/head_skip/tiles").at(10) == std::vector{0.25F});
  CHECK(got.at("train/loss").at(10) == std::vector{2.5F});
  CHECK(got.at("valid/pi_mean/1").at(20) == std::vector{0.75F});
  CHECK(got.at("valid/pi_mean/2").at(20) == std::vector{0.25F});
  CHECK(std::isnan(got.at("valid/ppl").at(20)[0]));
  CHECK(got.at("test/ppl").at(20) ==
        std::vector{8.0F});  // when it was made, not the step of the best model
  const std::string bytes = slurp(event_files(dir / "tb")[0]);
  for (const char* part :
       {"brain.Event:2", "| head | mix:lin,rbf |", "| odd | a\\|b |", "| model.layers | 2 |"})
    CHECK(has(bytes, part));
}

TEST_CASE(
    "tensorboard: going on leaves nothing twice, and a run mirrored late is shown from its "
    "beginning") {
  const TemporaryDirectory dir;
  const auto train = [](int step) {
    return Json{{"event", "train"}, {"step", step}, {"time_s", step * 1.0}, {"loss", 100.0 - step}};
  };
  const fs::path log = dir / "log.jsonl";
  {
    TensorBoard board(dir / "tb", Json::object());
    board.catch_up(log);
    board.event({{"event", "start"}, {"step", 0}});
    for (const int step : {10, 20, 30}) board.event(train(step));
  }
  {  // killed after step 30, its checkpoint was of step 20
    TensorBoard board(dir / "tb", Json::object());
    board.catch_up(log);
    board.event({{"event", "resume"}, {"step", 20}, {"time_s", 20.0}});
    for (const int step : {30, 40}) board.event(train(step));
  }
  CHECK(event_files(dir / "tb").size() == 2);
  const Scalars got = scalars(dir / "tb");
  REQUIRE(got.at("train/loss").size() == 4);
  for (const auto& [step, values] : got.at("train/loss"))
    CHECK(values == std::vector{100.0F - static_cast<float>(step)});

  std::ofstream(log) << Json{{"event", "start"}, {"step", 0}} << "\n"
                     << train(10) << "\n"
                     << train(20) << "\n";
  TensorBoard late(dir / "late", Json::object());
  late.catch_up(log);
  late.event({{"event", "resume"}, {"step", 20}, {"time_s", 20.0}});
  late.event(train(30));
  CHECK(scalars(dir / "late").at("train/loss").size() == 3);

  TensorBoard again(dir / "tb", Json::object());  // --restart
  again.catch_up(log);
  again.event({{"event", "start"}, {"step", 0}});
  CHECK(scalars(dir / "tb").at("train/loss").empty());
  CHECK(has(error_of([&] { TensorBoard(log / "tb", Json::object()); }),
            concat("--tensorboard ", (log / "tb").string(), ": ", log.string(),
                   " is a file, not a directory; give another --tensorboard")));
}

TEST_CASE("tensorboard: lm_train mirrors its log, also when it goes on") {
  const TemporaryDirectory dir;
  const auto run = [&](const std::string& after, const std::vector<std::string>& more) {
    const Outcome r = run_program(
        "lm_train", joined({"--sample", "--sample-sentences", "600", "--layers", "1", "--hidden",
                            "16", "--embed", "16", "--batch", "8", "--bptt", "10", "--log-every",
                            "10", "--after", after, "--run", dir / "run"},
                           more));
    REQUIRE_MESSAGE(r.code == 0, r.err);
  };
  std::string board = "tb";
  SUBCASE("from its beginning") { run("40u", {"--tensorboard", dir / board}); }
  SUBCASE("late: of the log's test line, which goes when the run goes on, nothing stays") {
    run("40u", {});
    board = "late";
  }
  SUBCASE("with a gap: what the log has of the time between is written too") {
    run("20u", {"--tensorboard", dir / board});
    run("50u", {});
  }
  SUBCASE("with a gap and a file that is cut") {
    run("20u", {"--tensorboard", dir / board});
    run("40u", {"--tensorboard", dir / board});
    const fs::path last = event_files(dir / board).back();
    fs::resize_file(last, fs::file_size(last) / 2);
    // A reader sees whole records only.
    std::string whole;
    const std::string bytes = slurp(last);
    for (size_t at = 0; at + 12 <= bytes.size();) {
      const size_t size = 16 + number_at<uint64_t>(bytes, at);
      if (at + size > bytes.size()) break;
      whole += bytes.substr(at, size);
      at += size;
    }
    put(last, whole);
  }
  run("70u", {"--tensorboard", dir / board});
  const Scalars got = scalars(dir / board);
  int trains = 0;
  for (const auto& line : log_of(dir / "run")) {
    if (line["event"] != "train") continue;
    ++trains;
    CHECK(got.at("train/loss").at(line["step"]) == std::vector{line["loss"].get<float>()});
  }
  CHECK(trains == 7);
  CHECK(static_cast<int>(got.at("train/loss").size()) == trains);
  if (board == "late") CHECK(got.at("test/ppl").size() == 1);
  for (const auto& steps : got)
    for (const auto& step : steps.second)
      CHECK_MESSAGE(step.second.size() == 1, steps.first, " at ", step.first);
}

}  // namespace nine::tests::test_tensorboard
