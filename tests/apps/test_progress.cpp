// apps/cli: progress on a terminal and elsewhere, short texts for numbers.
#include <doctest/doctest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "apps/cli/number_format.h"
#include "apps/cli/progress.h"
#include "tests/support/conversation.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

namespace nine::tests::test_progress {
namespace {

using namespace nine::app;
using nine::tests::has;

// A FILE* whose text can be read back.
class Captured {
 public:
  Captured() : file_(open_memstream(&text_, &size_)) {}
  ~Captured() {
    std::fclose(file_);
    std::free(text_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* file_;
};

// Both ends of a pseudo terminal.
struct Terminal {
  int ends[2] = {-1, -1};
  std::FILE* out = nullptr;
  Terminal() {
    if (!open_terminal(ends)) return;
    out = fdopen(ends[0], "w");
    setvbuf(out, nullptr, _IOFBF, 4096);
  }
  ~Terminal() {
    if (!out) return;
    std::fclose(out);
    ::close(ends[1]);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  std::string read() const {
    std::fflush(out);
    std::string text;
    char buffer[4096];
    for (pollfd ready{ends[1], POLLIN, 0}; poll(&ready, 1, text.empty() ? 5000 : 50) == 1;) {
      const ssize_t n = ::read(ends[1], buffer, sizeof buffer);
      if (n <= 0) break;
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }
};

}  // namespace

TEST_SUITE("progress") {
  TEST_CASE("plain lines now and then, and at the end") {
    Captured out;
    double time = 100;
    {
      Progress p("train", "updates",
                 {.out = out.file(), .seconds_between_lines = 10, .clock = [&] { return time; }});
      p.finish();
      CHECK(out.text().empty());
      for (int i = 0; i <= 24; ++i, time += 1) p.update(1000 + i * 10, 2000, "loss 4.5");
      time = 130;
      p.update(1300, 2000, "loss 4.4");
      p.message("valid ppl 90.1");
      p.finish();
      p.finish();
    }
    CHECK(out.text() ==
          "train  55%  1,100/2,000 updates  10/s  1m30s left  loss 4.5\n"
          "train  60%  1,200/2,000 updates  10/s  1m20s left  loss 4.5\n"
          "train  65%  1,300/2,000 updates  10/s  1m10s left  loss 4.4\n"
          "valid ppl 90.1\n"
          "train  65%  1,300/2,000 updates  10/s  in 30s  loss 4.4\n");
  }

  TEST_CASE("without a total, and starting again") {
    Captured out;
    double time = 0;
    Progress p("score", "sentences", {.out = out.file(), .clock = [&] { return time; }});
    p.update(0, 0);
    time = 10;
    p.update(50, 0);
    time = 20;
    p.update(0, 7);
    p.finish();
    CHECK(out.text() ==
          "score 50 sentences  5.0/s\nscore   0%  0/7 sentences\nscore   0%  0/7 sentences  in "
          "0.0s\n");
  }

  TEST_CASE("a bar on a terminal" * doctest::test_suite("needs a terminal")) {
    Terminal terminal;
    if (!terminal.out) return nine::tests::skip("there is no pseudo terminal");
    double time = 0;
    {
      Progress p("train", "updates", {.out = terminal.out, .clock = [&] { return time; }});
      p.update(0, 100);
      const std::string first = terminal.read();
      CHECK(has(first, "\r\033[Ktrain   0% [>"));
      CHECK(first.find('\n') == std::string::npos);
      time = 0.05;
      p.update(10, 100);  // too soon
      time = 0.2;
      p.update(50, 100, "loss 3");
      const std::string second = terminal.read();
      CHECK(second.find("10/100") == std::string::npos);
      CHECK(has(second, " 50% ["));
      CHECK(has(second, "50/100 updates  250/s  0.2s left  loss 3"));
      CHECK(second.size() <= 80 + 4);
      p.message("saved");
      CHECK(has(terminal.read(), "\r\033[Ksaved\r\n\r\033[Ktrain  50%"));
      time = 0.4;
      p.update(60, 100, std::string(500, 'x'));
      CHECK(terminal.read().size() <= 79 + 4);
    }
    CHECK(terminal.read() == "\r\n");
  }

  TEST_CASE("short texts for numbers") {
    CHECK(short_count(0) == "0");
    CHECK(short_count(999) == "999");
    CHECK(short_count(12345) == "12,345");
    CHECK(short_count(99999) == "99,999");
    CHECK(short_count(123456) == "123K");
    CHECK(short_count(999'600) == "1.0M");
    CHECK(short_count(1'940'000) == "1.9M");
    CHECK(short_count(19'400'000) == "19.4M");
    CHECK(short_count(194'000'000) == "194M");
    CHECK(short_count(2.1e9) == "2.1G");
    CHECK(short_count(-5000) == "-5,000");
    CHECK(short_count(std::numeric_limits<double>::quiet_NaN()) == "?");
    CHECK(short_rate(0.25) == "0.25");
    CHECK(short_rate(3.21) == "3.2");
    CHECK(short_rate(9.97) == "10");
    CHECK(short_rate(17) == "17");
    CHECK(short_duration(0.44) == "0.4s");
    CHECK(short_duration(12) == "12s");
    CHECK(short_duration(59.7) == "1m00s");
    CHECK(short_duration(192) == "3m12s");
    CHECK(short_duration(3720) == "1h02m");
    CHECK(short_duration(86400 * 2 + 3 * 3600) == "2d03h");
    CHECK(short_duration(-1) == "?");
    CHECK(short_duration(std::numeric_limits<double>::infinity()) == "?");
  }
}

}  // namespace nine::tests::test_progress
