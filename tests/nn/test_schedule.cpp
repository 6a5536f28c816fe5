// Learning rates: the formulas of each schedule, update by update, and in a trainer's log.
#include "nn/training/schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_schedule {

using doctest::Approx;

TEST_CASE("schedule: the warm-up rises linearly to the rate, whatever follows") {
  for (const auto kind :
       {ScheduleKind::constant, ScheduleKind::inverse_sqrt, ScheduleKind::plateau}) {
    const Schedule s({.kind = kind, .lr = 0.8, .warmup = 4});
    CHECK(s.rate(1) == Approx(0.2));
    CHECK(s.rate(3) == Approx(0.6));
    CHECK(s.rate(4) == Approx(0.8));
    // Vaswani et al. (2017), eq. 3, up to a factor: sqrt(4 / 16) of the peak at update 16.
    CHECK(s.rate(16) == Approx(kind == ScheduleKind::inverse_sqrt ? 0.4 : 0.8));
    CHECK(s.rate(400) == Approx(kind == ScheduleKind::inverse_sqrt ? 0.08 : 0.8));
  }
  const Schedule at_once({.kind = ScheduleKind::inverse_sqrt, .lr = 1});
  CHECK(at_once.rate(1) == Approx(1));
  CHECK(at_once.rate(25) == Approx(0.2));
}

TEST_CASE("schedule: a plateau lowers the rate after `patience` validations without improvement") {
  Schedule s({.kind = ScheduleKind::plateau, .lr = 1, .decay = 0.25, .patience = 1, .min_lr = 0.1});
  std::vector<double> rates;
  std::vector<bool> lowered;
  const std::vector<double> metrics{9, 8, 8, 8.5, 7, 7.5, 7.2, 7.1, 7.1, 7.3};
  for (const double metric : metrics) {
    lowered.push_back(s.validated(metric));
    rates.push_back(s.rate(100));
  }
  // An equal one is no improvement. From 1 to a quarter, then to the least rate, and no further.
  CHECK(rates == std::vector<double>{1, 1, 1, 0.25, 0.25, 0.25, 0.1, 0.1, 0.1, 0.1});
  CHECK(lowered == std::vector<bool>{0, 0, 0, 1, 0, 0, 1, 0, 0, 0});
  Schedule again({.kind = ScheduleKind::plateau, .lr = 1, .decay = 0.25, .min_lr = 0.01});
  again.restore({.scale = 0.5, .best = 7, .bad = 0});
  CHECK(again.rate(1) == Approx(0.5));
  CHECK(!again.validated(6.9));
  CHECK(again.validated(6.9));  // without patience at once
  CHECK(again.rate(1) == Approx(0.125));
  Schedule constant({.lr = 1});
  for (int i = 0; i < 3; ++i) CHECK(!constant.validated(5));
  CHECK(constant.rate(1000) == Approx(1));
}

TEST_CASE("schedule: a length in updates stands for the share that is done") {
  for (const auto kind : {ScheduleKind::cosine, ScheduleKind::linear, ScheduleKind::wsd}) {
    const Schedule s({.kind = kind, .lr = 1, .warmup = 4, .min_lr = 0.1, .updates = 104});
    for (const int64_t t : {1, 5, 60, 100, 104})
      CHECK(s.rate(t) == s.rate(t, static_cast<double>(t - 1) / 104));
    CHECK(s.rate(1000) == Approx(0.1));
    CHECK(error_of([&] { Schedule({.kind = kind}).rate(1); }).find("ScheduleConfig::updates") !=
          std::string::npos);
  }
}

TEST_CASE("schedule: cosine, linear and wsd fall to the last rate over a known length") {
  // Of 104 updates with a warm-up of 4, update t has the share (t - 1) / 104 behind it.
  const auto rates = [](ScheduleKind kind, int64_t warmup) {
    const Schedule s({.kind = kind, .lr = 1, .warmup = warmup, .min_lr = 0.1, .fall = 0.25});
    std::vector<double> all;
    for (int64_t t = 1; t <= 105; ++t) all.push_back(s.rate(t, static_cast<double>(t - 1) / 104));
    return all;
  };
  const double pi = std::acos(-1.0);
  for (const int64_t warmup : {0, 4}) {
    const auto cosine = rates(ScheduleKind::cosine, warmup),
               linear = rates(ScheduleKind::linear, warmup), wsd = rates(ScheduleKind::wsd, warmup);
    for (int64_t t = 1; t <= 105; ++t) {
      const auto i = static_cast<size_t>(t - 1);
      // nanoGPT's get_lr, whose iterations begin at 0.
      const double part = static_cast<double>(std::max<int64_t>(0, t - 1 - warmup)) /
                          static_cast<double>(104 - warmup);
      if (t < warmup) {
        for (const auto& r : {cosine, linear, wsd})
          CHECK(r[i] == Approx(static_cast<double>(t) / 4));
        continue;
      }
      CHECK(cosine[i] == Approx(0.1 + 0.45 * (1 + std::cos(pi * part))));
      CHECK(linear[i] == Approx(1 - 0.9 * part));
      CHECK(wsd[i] == Approx(t - 1 <= 78 ? 1 : 1 - 0.9 * static_cast<double>(t - 1 - 78) / 26));
    }
    for (const auto& r : {cosine, linear, wsd}) CHECK(r.back() == Approx(0.1));
  }
}

TEST_CASE("schedule: a length in epochs or tokens, and a run that goes on") {
  const TemporaryDirectory dir;
  const auto rates = [&](const std::string& name, const std::vector<std::string>& more,
                         int code = 0) {
    std::vector<std::string> all{"--sample", "--sample-sentences",
                                 "300",      "--embed",
                                 "8",        "--layers",
                                 "1",        "--hidden",
                                 "8",        "--log-every",
                                 "1",        "--lr",
                                 "0.01",     "--run",
                                 dir / name};
    all.insert(all.end(), more.begin(), more.end());
    const Outcome r = run_program("lm_train", all);
    REQUIRE_MESSAGE(r.code == code, r.err);
    if (code != 0) CHECK(r.err.find("--schedule-length was 8u") != std::string::npos);
    return trained_numbers(dir / name, "lr");
  };
  const auto whole = rates("whole", {"--schedule", "cosine", "--after", "8u"});
  REQUIRE(whole.size() == 8);
  CHECK(whole.front() == Approx(0.01));
  CHECK(whole.back() == Approx(0.001 + 0.0045 * (1 + std::cos(std::acos(-1.0) * 7 / 8))));
  // A run of parts has the length of its beginning.
  const auto parts =
      rates("parts", {"--schedule", "cosine", "--after", "5u", "--schedule-length", "8u"});
  CHECK(parts == std::vector<double>(whole.begin(), whole.begin() + 5));
  CHECK(rates("parts", {"--schedule", "cosine", "--after", "8u", "--schedule-length", "8u"}) ==
        whole);
  rates("whole", {"--schedule", "cosine", "--after", "9u"}, 2);
  const auto epochs =
      rates("epochs", {"--schedule", "linear", "--min-lr", "0.002", "--after", "2e"});
  const auto n = static_cast<double>(epochs.size());
  for (size_t i = 0; i < epochs.size(); ++i)
    CHECK(epochs[i] == Approx(0.01 - 0.008 * static_cast<double>(i) / n).epsilon(0.03));
}

TEST_CASE("schedule: the rates that a trainer logs are those") {
  const TemporaryDirectory dir;
  const auto rates = [&](const std::string& program, std::vector<std::string> arguments) {
    const std::string run = dir / program;
    arguments.insert(arguments.end(),
                     {"--sample", "--layers", "1", "--hidden", "8", "--log-every", "1", "--after",
                      "9u", "--lr", "0.01", "--warmup", "4", "--run", run});
    const Outcome r = run_program(program, arguments);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return trained_numbers(run, "lr");
  };
  const auto expected = [](ScheduleKind kind) {
    std::vector<double> all;
    for (int t = 1; t <= 9; ++t)
      all.push_back(0.01 * (t < 4                                ? t / 4.0
                            : kind == ScheduleKind::inverse_sqrt ? std::sqrt(4.0 / t)
                                                                 : 1));
    return all;
  };
  const auto check = [](const std::vector<double>& found, const std::vector<double>& wanted) {
    REQUIRE(found.size() == wanted.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(wanted[i]));
  };
  const std::vector<std::string> language{"--sample-sentences", "300", "--embed", "8"};
  check(rates("lm_train", language), expected(ScheduleKind::constant));
  // mt_train's own default.
  check(rates("mt_train", {"--sample-pairs", "100", "--ffn", "8", "--heads", "2"}),
        expected(ScheduleKind::inverse_sqrt));
}

}  // namespace nine::tests::test_schedule
