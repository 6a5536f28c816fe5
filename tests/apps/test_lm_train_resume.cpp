// lm_train from the outside: runs that are stopped, go on, or fail.
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/safetensors.h"
#include "tests/apps/lm_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_lm_train_resume {
namespace {}  // namespace

// A validation at the end of a run that is trained on later must not count.
TEST_CASE("lm_train: early stopping of a run in parts is that of the whole one") {
  const TemporaryDirectory dir;
  const auto train = [&](const char* run, const char* after) {
    const Outcome r = run_program("lm_train", {"--sample", "--sample-sentences",
                                               "300",      "--layers",
                                               "1",        "--hidden",
                                               "16",       "--embed",
                                               "16",       "--optimizer",
                                               "sgd",      "--lr",
                                               "25",       "--batch",
                                               "8",        "--bptt",
                                               "8",        "--save-every",
                                               "0u",       "--threads",
                                               "1",        "--valid-every",
                                               "4u",       "--early-stop",
                                               "2",        "--after",
                                               after,      "--run",
                                               dir / run});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return log_of(dir / run).back()["step"].get<int64_t>();
  };
  const int64_t whole = train("whole", "60u");
  CHECK(whole < 60);
  CHECK(train("parts", "14u") ==
        14);  // its last validation, between two that are due, is better than the next ones
  CHECK(train("parts", "60u") == whole);
}

TEST_CASE("same bits with one and two threads, and after kill -9, SIGTERM and resume") {
  const TemporaryDirectory dir;
  const Strings options{"--after", "500u", "--save-every", "60u", "--valid-every", "130u"};
  const auto with = [&](const std::string& run, const Strings& more) {
    Strings all = small(dir / run, options);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  REQUIRE(run_program("lm_train", with("one", {"--threads", "1"})).code == 0);
  REQUIRE(run_program("lm_train", with("two", {"--threads", "2"})).code == 0);
  CHECK(weights_of(dir / "one") == weights_of(dir / "two"));
  CHECK(results_of(dir / "one") == results_of(dir / "two"));

  int interrupted = 0;
  for (int round = 0; round < 40; ++round) {
    const bool polite = round % 3 == 2;
    const Outcome r =
        run_program("lm_train", with("broken", {"--threads", round % 2 == 0 ? "1" : "2"}), {},
                    60 + 45 * (round % 7), polite ? SIGTERM : SIGKILL);
    if (r.code == 0) break;
    REQUIRE_MESSAGE((r.code == 130 || r.code == 128 + SIGKILL || r.code == 128 + SIGTERM), r.code,
                    ": ", r.err);
    ++interrupted;
  }
  REQUIRE(run_program("lm_train", with("broken", {})).code == 0);
  MESSAGE("interrupted ", interrupted, " times");
  CHECK(interrupted > 0);
  CHECK(weights_of(dir / "broken") == weights_of(dir / "one"));
  CHECK(results_of(dir / "broken") == results_of(dir / "one"));
}

TEST_CASE("SIGINT saves and exits 130") {
  const TemporaryDirectory dir;
  Program program("lm_train", small(dir / "run", {"--after", "100Ku", "--save-every", "0u"}));
  REQUIRE(
      soon([&] { return has(slurp(dir / "run/log.jsonl"), "\"train\"") || !program.running(); }));
  program.signal(SIGINT);
  const Outcome r = program.wait();
  CHECK(r.code == 130);
  CHECK(has(r.err, "is saved"));
  CHECK(!weights_of(dir / "run").empty());
}

TEST_CASE("a log that was removed while the run goes on is said, and how much is lost") {
  const TemporaryDirectory dir;
  const std::string run = dir / "run", log = dir / "run/log.jsonl";
  const auto train = [&](const std::string& updates) {
    const Outcome r = run_program("lm_train", tiny_lm_flags(run, updates));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.err;
  };
  train("12u");
  CHECK(!has(train("17u"), "was removed or cut"));
  std::filesystem::remove(log);
  for (const char* updates : {"22u", "32u"}) {  // also when it goes on a second time
    CAPTURE(updates);
    CHECK(has(train(updates), log + " was removed or cut: it lacks 15 of the "));
    const std::vector<Json> events = log_of(run);
    CHECK(events.front()["event"] == "resume");
    CHECK(events.front()["lost_updates"] == 15);
  }
  CHECK(has(slurp(dir / "run/report.html"),
            "log.jsonl lacks 15 updates: it was removed or cut while the run went on."));
}

TEST_CASE("a damaged checkpoint is passed over for the one before it") {
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train",
                      small(dir / "run", {"--after", "200u", "--save-every", "50u", "--keep", "3"}))
              .code == 0);
  const std::string latest = dir / "run/checkpoints/latest/model.safetensors";
  std::string bytes = slurp(latest);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  put(latest, bytes);
  const Outcome r = run_program(
      "lm_train", small(dir / "run", {"--after", "220u", "--save-every", "50u", "--keep", "3"}));
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(has(r.err, "model.safetensors"));
  REQUIRE(run_program("lm_train", small(dir / "fresh", {"--after", "220u"})).code == 0);
  CHECK(weights_of(dir / "run") == weights_of(dir / "fresh"));
}

TEST_CASE("a log stays as it is where --tensorboard cannot be written") {
  const TemporaryDirectory dir;
  REQUIRE(run_program("lm_train", small(dir / "r", {"--after", "20u"})).code == 0);
  const std::string log = slurp(dir / "r/log.jsonl"), config = slurp(dir / "r/config.json");
  const Outcome r = run_program(
      "lm_train", small(dir / "r", {"--after", "30u", "--tensorboard", dir.write("file", "")}));
  CHECK(r.code == 1);
  CHECK(has(r.err, "is a file, not a directory"));
  CHECK(slurp(dir / "r/log.jsonl") == log);
  CHECK(slurp(dir / "r/config.json") == config);
}

TEST_CASE(
    "a loss that is not finite names the op and the step, and keeps the last good checkpoint") {
  const TemporaryDirectory dir;
  const Strings wild{"--sample",  "--sample-sentences",
                     "600",       "--hidden",
                     "16",        "--embed",
                     "16",        "--batch",
                     "4",         "--bptt",
                     "8",         "--optimizer",
                     "sgd",       "--lr",
                     "1e38",      "--clip",
                     "0",         "--after",
                     "50u",       "--save-every",
                     "1u",        "--run",
                     dir / "wild"};
  const Outcome diverged = run_program("lm_train", wild);
  CAPTURE(diverged.err);
  CHECK(diverged.code == 1);
  CHECK(has(diverged.err, "NaN or infinity"));
  CHECK(has(diverged.err, "step "));
  CHECK(has(diverged.err, "["));
  CHECK(!weights_of(dir / "wild").empty());
}

}  // namespace nine::tests::test_lm_train_resume
