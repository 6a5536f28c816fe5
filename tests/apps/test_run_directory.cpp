// apps/cli and apps/training: run_main, signals, run directories.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "apps/cli/option_data.h"
#include "apps/cli/run_main.h"
#include "apps/cli/signals.h"
#include "apps/training/compare_configs.h"
#include "apps/training/run_directory.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "tests/support/permissions.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_run_directory {
namespace {

using namespace nine::app;
using nine::tests::error_of;
using nine::tests::has;
using nine::tests::Scratch;
namespace fs = std::filesystem;
// How a child that runs `f` ends: its exit code, or minus the signal that killed it.
template <class F>
int in_child(F f) {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    int code = 99;
    try {
      code = f();
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

struct Outcome {
  int code;
  std::string text;
};

// run_main's exit code and what it said; program: its name, or its options.
Outcome main_outcome(const std::function<int()>& body, const auto& program) {
  Scratch scratch;
  const std::string file = (scratch / "stderr").string();
  const int code = in_child([&] {
    if (!std::freopen(file.c_str(), "w", stderr)) return 98;
    const int result = run_main(program, body);
    std::fflush(stderr);
    return result;
  });
  return {code, read_text(file)};
}

Outcome main_outcome(const std::function<int()>& body) { return main_outcome(body, "lm_train"); }

}  // namespace

TEST_SUITE("run_main and signals") {
  TEST_CASE("exit codes and messages") {
    CHECK(main_outcome([] { return 0; }).code == kExitDone);
    CHECK(main_outcome([] { return kExitInterrupted; }).code == 130);
    const Outcome usage = main_outcome([]() -> int { throw UsageError("unknown option --x"); });
    CHECK(usage.code == kExitUsage);
    CHECK(usage.text == "lm_train: unknown option --x\ntry 'lm_train --help'\n");
    const Outcome failed = main_outcome([]() -> int { fail("no such corpus"); });
    CHECK(failed.code == kExitFailed);
    CHECK(failed.text == "lm_train: no such corpus\n");
    CHECK(has(main_outcome([]() -> int { throw std::bad_alloc(); }).text,
              "lm_train: out of memory; smaller batches"));
    CHECK(main_outcome([]() -> int { throw 3; }).code == kExitFailed);
    const Outcome full = main_outcome([] {
      if (!std::freopen("/dev/full", "w", stdout)) return 97;
      std::printf("text");
      return 0;
    });
    CHECK(full.code == kExitFailed);
    CHECK(has(full.text, "standard output could not be written"));
  }

  TEST_CASE("an error after parsing names the flags of the settings that it mentions") {
    Options options("lm_train", "Trains a language model.");
    double lr = 1;
    options.add("lr", lr, "learning rate").above(0).called("learning rate");
    const auto said = [&](bool parses, const auto& error) {
      return main_outcome(
          [&]() -> int {
            std::ostringstream out;
            if (parses) static_cast<void>(options.parse({"--lr", "2"}, out));
            throw error;
          },
          options);
    };
    const Outcome failed = said(true, Error("the loss is not finite: lower the learning rate"));
    CHECK(failed.code == kExitFailed);
    CHECK(failed.text == "lm_train: the loss is not finite: lower the learning rate (--lr)\n");
    const Outcome usage = said(true, UsageError("learning rate 2 is too high"));
    CHECK(usage.code == kExitUsage);
    CHECK(usage.text == "lm_train: learning rate (--lr) 2 is too high\ntry 'lm_train --help'\n");
    CHECK(said(true, std::runtime_error("learning rate")).text == "lm_train: learning rate\n");
    CHECK(said(false, Error("learning rate 2 is too high")).text ==
          "lm_train: learning rate 2 is too high\n");
    CHECK(main_outcome(
              [&] { return options.parse(std::vector<std::string>{"--lr=0"}, std::cout) ? 0 : 1; },
              options)
              .text == "lm_train: --lr 0: must be a number above 0\ntry 'lm_train --help'\n");
  }

  TEST_CASE("the first signal is remembered") {
    CHECK(in_child([] {
            signal(SIGINT, SIG_DFL);
            catch_interrupts();
            if (interrupted() != 0) return 1;
            raise(SIGTERM);
            raise(SIGTERM);
            raise(SIGINT);
            if (interrupted() != SIGTERM) return 2;
            release_interrupts();
            return interrupted();
          }) == 0);
  }

  TEST_CASE("a second interrupt kills") {
    CHECK(in_child([] {
            signal(SIGINT, SIG_DFL);
            catch_interrupts();
            raise(SIGINT);
            if (interrupted() != SIGINT) return 1;
            raise(SIGINT);
            return 2;
          }) == -SIGINT);
  }

  TEST_CASE("an ignored interrupt stays ignored") {
    CHECK(in_child([] {
            signal(SIGINT, SIG_IGN);
            catch_interrupts();
            raise(SIGINT);
            return interrupted();
          }) == 0);
  }
}

TEST_SUITE("run directory") {
  TEST_CASE("a new one") {
    Scratch scratch;
    RunDirectory run(scratch / "deep/er");
    CHECK(fs::is_directory(scratch / "deep/er"));
    CHECK_FALSE(run.has_run());
    CHECK_FALSE(run.finished());
    CHECK(run.last_event().is_null());
    run.cut_log(5);
    CHECK(run.restart().empty());
    CHECK(has(error_of([&] { (void)run.read_config(); }), "without config.json; use --restart"));
    run.write_config({{"lr", 0.001}, {"seed", 1}});
    run.write_config({{"lr", 0.1}, {"seed", 1}});
    CHECK(run.read_config().dump() == R"({"lr":0.1,"seed":1})");
    CHECK(run.has_run());
    CHECK_FALSE(fs::exists(scratch / "deep/er/config.json.new"));
  }

  TEST_CASE("broken places are named") {
    Scratch scratch;
    const std::string file = scratch.write("file", "x");
    CHECK(error_of([&] { RunDirectory run(file); }) ==
          concat("--run ", file, " is a file, not a directory; give another --run"));
    CHECK(
        error_of([&] { RunDirectory run(file + "/sub"); }) ==
        concat("--run ", file, "/sub: ", file, " is a file, not a directory; give another --run"));
    CHECK(has(error_of([&] { RunDirectory run(""); }), "--run is empty"));
    scratch.write("config.json", "[1");
    RunDirectory run(scratch / ".");
    CHECK(has(error_of([&] { (void)run.read_config(); }), "is not a JSON object"));
    std::string deep;
    for (int i = 0; i < 20'000; ++i) deep += R"({"a":)";
    scratch.write("config.json", deep + '1' + std::string(20'000, '}'));
    CHECK(has(error_of([&] { (void)run.read_config(); }),
              "config.json is not a JSON object: it is nested more deeply than 100 levels"));
    fs::create_directory(scratch / "ro");
    fs::permissions(scratch / "ro", fs::perms::owner_read | fs::perms::owner_exec);
    CHECK(in_child([&] {
            nine::tests::obey_permissions();
            return has(error_of([&] { RunDirectory other(scratch / "ro"); }),
                       "cannot be written: Permission denied")
                       ? 7
                       : 8;
          }) == 7);
  }

  TEST_CASE("a run within a run's checkpoints is refused") {
    const Scratch scratch;
    scratch.write("log.jsonl", "");
    fs::create_directories(scratch / "checkpoints/00000007");
    scratch.write("checkpoints/00000007/state.json", R"({"files": {}, "crc32c": 0})");
    fs::create_symlink("00000007", scratch / "checkpoints/best");
    const auto says = [&](const char* name) {
      return error_of([&] { RunDirectory run(scratch / name); });
    };
    const std::string whole = fs::canonical(scratch.path()).string();
    for (const char* name : {"checkpoints", "checkpoints/", "checkpoints/new", "checkpoints/a/b"}) {
      CHECK(has(says(name), "lies within the checkpoints of a run; give --run " + whole));
      CHECK_FALSE(fs::exists(scratch / "checkpoints/new"));
    }
    for (const char* name : {"checkpoints/best", "checkpoints/00000007"})
      CHECK(has(says(name), "is a checkpoint, not a run"));
    CHECK(says("other").empty());
    CHECK(says(".").empty());
  }

  TEST_CASE("one process at a time") {
    Scratch scratch;
    const fs::path path = scratch / "run";
    {
      RunDirectory run(path);
      const std::string expected =
          concat("--run ", path.string(), " is in use by process ", getpid(), " on ");
      CHECK(in_child([&] {
              return error_of([&] { RunDirectory other(path); }).starts_with(expected) ? 7 : 8;
            }) == 7);
      CHECK(has(error_of([&] { RunDirectory other(path); }),
                "wait until it ends, or give another --run"));
    }
    RunDirectory again(path);
  }

  TEST_CASE("the lock of a killed process is free") {
    Scratch scratch;
    const fs::path path = scratch / "run";
    CHECK(in_child([&] {
            RunDirectory run(path);
            run.log({{"event", "train"}, {"step", 1}});
            return raise(SIGKILL);
          }) == -SIGKILL);
    RunDirectory run(path);
    CHECK(read_text(run.log_file()) == "{\"event\":\"train\",\"step\":1}\n");
  }

  TEST_CASE("the log grows by whole lines") {
    Scratch scratch;
    scratch.write("log.jsonl", "{\"event\":\"train\",\"step\":1}\n{\"event\":\"tra");
    RunDirectory run(scratch / ".");
    CHECK(run.last_event()["step"] == 1);
    run.log({{"event", "valid"},
             {"step", 2},
             {"ppl", std::numeric_limits<double>::quiet_NaN()},
             {"text", "a\nb\xff"}});
    CHECK(read_text(run.log_file()) ==
          "{\"event\":\"train\",\"step\":1}\n{\"event\":\"valid\",\"step\":2,\"ppl\":null,\"text\":"
          "\"a\\nb\xEF\xBF\xBD\"}\n");
    CHECK_FALSE(run.finished());
    run.log({{"event", "done"}, {"step", 2}});
    CHECK(run.finished());
  }

  TEST_CASE("a full disk is said") {
    Scratch scratch;
    fs::create_symlink("/dev/full", scratch / "log.jsonl");
    RunDirectory run(scratch / ".");
    const std::string error = error_of([&] { run.log({{"event", "train"}}); });
    CHECK(has(error, "log.jsonl: No space left on device; free some space"));
    CHECK(has(error_of([] { atomic_write_text("/proc/nine/x", "y"); }),
              "cannot write /proc/nine/.x."));
  }

  TEST_CASE("cutting the log back to a checkpoint") {
    Scratch scratch;
    const std::string kept =
        "{\"event\":\"start\",\"version\":1}\n"
        "{\"event\":\"train\",\"step\":10}\n"
        "{\"event\":\"resume\",\"step\":10}\n"
        "{\"event\":\"train\",\"step\":20}\n"
        "{\"event\":\"note\"}\n";
    scratch.write("log.jsonl", kept +
                                   "{\"event\":\"resume\",\"step\":20}\n"
                                   "{\"event\":\"done\",\"step\":20}\n"
                                   "rubbish\n"
                                   "{\"event\":\"train\",\"step\":30}\n"
                                   "{\"event\":\"note\"}\n"
                                   "{\"event\":\"train\",\"st");
    RunDirectory run(scratch / ".");
    run.cut_log(20);
    CHECK(read_text(run.log_file()) == kept);
    run.log({{"event", "resume"}, {"step", 20}});
    CHECK(read_text(run.log_file()) == kept + "{\"event\":\"resume\",\"step\":20}\n");
    run.cut_log(20);
    CHECK(read_text(run.log_file()) == kept);
    run.cut_log(0);
    CHECK(read_text(run.log_file()) == "{\"event\":\"start\",\"version\":1}\n");
  }

  TEST_CASE("the updates that a log lacks are counted") {
    Scratch scratch;
    RunDirectory run(scratch / "run");
    CHECK(run.updates_not_logged(0, 10) == 0);
    CHECK(run.updates_not_logged(9, 10) == 0);  // a window that has not ended
    CHECK(run.updates_not_logged(35, 10) == 30);
    for (const int step : {7, 10, 20, 20, 30, 40})  // 7: the end of a run that went on later
      run.log({{"event", "train"}, {"step", step}});
    run.log({{"event", "valid"}, {"step", 50}});
    CHECK(run.updates_not_logged(44, 10) == 0);
    CHECK(run.updates_not_logged(35, 10) == 0);
    CHECK(run.updates_not_logged(65, 10) == 20);
    fs::remove(run.log_file());
    CHECK(run.updates_not_logged(65, 10) == 60);
  }

  TEST_CASE("starting anew moves the old run away") {
    Scratch scratch;
    RunDirectory run(scratch / "run");
    for (int i = 1; i <= 2; ++i) {
      run.write_config({{"i", i}});
      run.log({{"event", "train"}, {"step", i}});
      fs::create_directories(run.checkpoints() / "00000001");
      atomic_write_text(run.report_file(), "page");
      atomic_write_text(run.path() / "console.txt", "mine");
      atomic_write_text(run.path() / "events.tb", "tb");
      CHECK(run.restart({"events.tb"}) == run.path() / concat("old-", i));
      CHECK_FALSE(run.has_run());
      CHECK(fs::exists(run.path() / "console.txt"));
      CHECK_FALSE(fs::exists(run.path() / "events.tb"));
    }
    for (const char* name :
         {"config.json", "log.jsonl", "report.html", "checkpoints/00000001", "events.tb"})
      CHECK(fs::exists(run.path() / "old-2" / name));
    CHECK(Json::parse(read_text(run.path() / "old-1/config.json"))["i"] == 1);
    run.log({{"event", "train"}, {"step", 9}});  // into a new file
    CHECK(read_text(run.log_file()) == "{\"event\":\"train\",\"step\":9}\n");
  }

  TEST_CASE("comparing configurations") {
    const Json stored = {{"hidden", 512},
                         {"lr", 1},
                         {"tie_embeddings", true},
                         {"train", {"a", "b"}},
                         {"after", "10e"},
                         {"init", ""},
                         {"gone", 3}};
    const auto compare = [&](const Json& now, const Json& defaults = Json::object()) {
      return compare_configs(stored, now, keys_free_on_resume(), defaults);
    };
    CHECK(compare(stored).empty());
    CHECK(compare({{"lr", 1.0}, {"after", "20e"}, {"threads", 3}, {"restart", true}}).empty());
    CHECK(compare({{"hidden", 256}}) ==
          "--hidden was 512 in this run, now 256; use --restart or another --run");
    CHECK(compare({{"tie_embeddings", false}, {"train", {"a"}}, {"init", "x"}}) ==
          "--tie-embeddings was on in this run, now off; --train was a,b in this run, now a; "
          "--init was not given in this run, now x; use --restart "
          "or another --run");
    // The config.json of the model of --init is a part of what it is; its path is not.
    const auto inputs = [](uint32_t weights, uint32_t config) {
      return RunInputs{.identity = {{"init", weights}, {config_key("init"), config}}};
    };
    Json begun = stored;
    begun["init"] = "x";
    begun["resolved"] = {{kIdentity, inputs(5, 7).identity}};
    const auto from = [&](const char* path, const RunInputs& now) {
      return compare_configs(begun, {{"init", path}}, keys_free_on_resume(), Json::object(), now);
    };
    CHECK(from("y", inputs(5, 7)).empty());
    CHECK(from("x", inputs(5, 8)).empty());  // trained on since
    const std::string other = from("y", inputs(5, 8));
    CHECK_MESSAGE(has(other,
                      "--init was x (checksum of its config.json 7) in this run, now y "
                      "(checksum of its config.json 8); "),
                  other);
    CHECK(
        has(from("y", inputs(6, 7)), "--init was x (checksum 5) in this run, now y (checksum 6)"));
    begun["resolved"][kIdentity].erase(config_key("init"));  // of an older version
    CHECK(from("y", inputs(5, 8)).empty());
    // A path that is not UTF-8 is stored with U+FFFD in place of its bytes.
    const Json bytes = {{"train", {"caf\xe9.txt"}}, {"init", "\xff"}};
    CHECK(
        compare_configs(parse_json(json_text(bytes)), bytes, keys_free_on_resume(), bytes).empty());
    CHECK(has(compare_configs(parse_json(json_text(bytes)), {{"init", "x\xff"}},
                              keys_free_on_resume(), bytes),
              "now x\xef\xbf\xbd;"));
    CHECK(compare({{"novel", 1}}).empty());
    CHECK(compare({{"novel", 1}}, {{"novel", 1}}).empty());
    CHECK(
        compare({{"novel", 2}}, {{"novel", 1}}) ==
        "--novel did not exist when this run began, but is now 2; use --restart or another --run");
  }

  TEST_CASE("comparing configurations: docs/compatibility.md lists the options that may differ") {
    const std::string page = read_text(fs::path(NINE_SOURCE_DIR) / "docs/compatibility.md");
    const size_t begin = page.find("- all options except "), end = page.find("\n\n", begin);
    REQUIRE(begin < end);
    const std::string list = page.substr(begin, end - begin);
    const std::regex option("`--([a-z-]+)`");
    std::set<std::string> said, free;
    for (std::sregex_iterator at(list.begin(), list.end(), option), none; at != none; ++at)
      said.insert((*at)[1]);
    for (const std::string& key : keys_free_on_resume()) free.insert(flag_of(key));
    // What says where a run is and how to begin is no setting of the run.
    for (const char* how : {"run", "restart", "other-gpu"}) CHECK(free.erase(how) == 1);
    CHECK(said == free);
  }
}

}  // namespace nine::tests::test_run_directory
