// Each allocation of a short run of each program fails once: the program ends with an error and
// exit code 1 (or does without that memory), never by a signal, and leaves nothing half-written.
//
// One of nine allocations, from minute to minute another; all with NINE_EVERY_ALLOCATION set, as
// .ci/run does.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/programs.h"
#include "tests/support.h"

namespace {

using namespace nine::tests;
namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

constexpr long kAtOnce = 100;

// In memory where there is room: a disk's file system takes longer than the runs.
fs::path directory_for_runs() {
  const fs::path memory = "/dev/shm";
  std::error_code error;
  const fs::space_info space = fs::space(memory, error);
  return !error && space.available > (uintmax_t{40} << 20) && access(memory.c_str(), W_OK) == 0
             ? memory
             : fs::temp_directory_path();
}

// A short run in a directory of its own. Results are the files `results`, and the checkpoints of
// the run directory `run` if there is one.
struct ShortRun {
  std::string program;
  Strings arguments, results = {};
  bool trains = false;

  Program start(const fs::path& directory, const std::string& allocations) const {
    return Program(program, arguments, {}, [=] {
      setenv("LD_PRELOAD", NINE_FAIL_ALLOCATION, 1);
      setenv("NINE_ALLOCATIONS", allocations.c_str(), 1);
      if (chdir(directory.c_str()) != 0) _exit(126);
    });
  }
};

long number_in(const fs::path& file) { return std::strtol(slurp(file).c_str(), nullptr, 10); }

// What a run that has failed has left is nothing, or as in the whole run.
void check_left(const ShortRun& run, const fs::path& failed, const fs::path& whole) {
  for (const std::string& file : run.results) {
    if (!fs::exists(failed / file)) continue;
    const std::string text = slurp(failed / file);
    // A report says of a file that could not be read that it could not.
    const bool complete =
        run.program == "nine_report" ? text.ends_with("</html>\n") : text == slurp(whole / file);
    CHECK_MESSAGE(complete, file, ":\n", text);
  }
  if (!run.trains || !fs::exists(failed / "run/checkpoints")) return;
  for (const auto& entry : fs::directory_iterator(failed / "run/checkpoints")) {
    const std::string name = entry.path().filename();
    if (entry.is_symlink() || name.starts_with(".")) continue;
    for (const auto& file : fs::directory_iterator(entry.path())) {
      if (file.path().extension() != ".safetensors" && file.path().extension() != ".txt") continue;
      CAPTURE(file.path().string());
      CHECK(slurp(file.path()) == slurp(whole / "run/checkpoints" / name / file.path().filename()));
    }
  }
}

void check_failure(const ShortRun& run, const fs::path& failed, const fs::path& whole) {
  const auto status = static_cast<int>(number_in(failed / "status"));
  const std::string error = slurp(failed / "err");
  CAPTURE(error);
  REQUIRE_MESSAGE(WIFEXITED(status), "ended by signal ", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) {
    if (!run.trains) CHECK(slurp(failed / "out") == slurp(whole / "out"));
    for (const std::string& file : run.results) CHECK(fs::exists(failed / file));
  } else {
    CHECK(WEXITSTATUS(status) == 1);
    // The last two are OpenMP's own words.
    CHECK((has(error, "out of memory") || has(error, "Cannot allocate memory") ||
           has(error, "libgomp: Out of memory") || has(error, "libgomp: Thread creation failed")));
  }
  check_left(run, failed, whole);
}

// The same command continues what a failed training run has left.
void check_continues(const ShortRun& run, const fs::path& failed, const fs::path& whole) {
  const Outcome outcome = run.start(failed, "count").wait();
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(weights_of(failed / "run") == weights_of(whole / "run"));
}

void check_every_allocation(const ShortRun& run) {
  const Scratch dir(directory_for_runs());
  CAPTURE(run.program);
  fs::create_directory(dir / "whole");
  const Outcome outcome = run.start(dir / "whole", "count").wait();
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  put(dir / "whole/out", outcome.out);
  const long all = number_in(dir / "whole/allocations");
  REQUIRE(all > 100);
  const bool every = std::getenv("NINE_EVERY_ALLOCATION") != nullptr;
  const long step = every ? 1 : 9, first = every ? 1 : 1 + std::time(nullptr) / 60 % step;
  const long pieces = (all + kAtOnce * step) / (kAtOnce * step);
  // Two processes at a time; each runs the program for its piece of the allocations.
  for (long piece = 0; piece < pieces; piece += 2) {
    const auto bound = [&](long i) { return first + std::min(i, pieces) * kAtOnce * step; };
    const auto wish = [&](long i) {
      return nine::concat(bound(i), " ", std::min(bound(i + 1), all + 1), " ", step);
    };
    Program one = run.start(dir.path(), wish(piece)),
            other = run.start(dir.path(), wish(piece + 1));
    CHECK(one.wait().code == 0);
    CHECK(other.wait().code == 0);
    for (long n = bound(piece); n < std::min(bound(piece + 2), all + 1); n += step) {
      CAPTURE(n);
      const fs::path failed = dir / std::to_string(n);
      check_failure(run, failed, dir / "whole");
      if (run.trains && n % 40 == 0) check_continues(run, failed, dir / "whole");
      fs::remove_all(failed);
    }
  }
}

// Texts, and a model of each kind.
struct Models : TemporaryDirectory {
  std::string text = write("text", "a b c\nb a\nc c a b\na a\n"), codes = *this / "codes";

  ShortRun lm_train(const std::string& run) const {
    return {"lm_train",
            {"--train",  text, "--valid",   text, "--hidden", "4", "--embed", "4",
             "--layers", "1",  "--batch",   "2",  "--bptt",   "3", "--after", "2u",
             "--keep",   "9",  "--threads", "1",  "--run",    run},
            {},
            true};
  }
  ShortRun mt_train(const std::string& run) const {
    return {"mt_train",
            {"--src",    text, "--tgt",   text, "--valid-src", text, "--valid-tgt", text,
             "--hidden", "4",  "--heads", "1",  "--ffn",       "4",  "--layers",    "1",
             "--after",  "1u", "--keep",  "9",  "--threads",   "1",  "--run",       run},
            {},
            true};
  }
  Models() {
    for (const ShortRun& run : {lm_train(*this / "lm"), mt_train(*this / "mt"), learn(codes)}) {
      const Outcome outcome = run_program(run.program, run.arguments);
      REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    }
  }
  ShortRun learn(const std::string& to) const {
    return {"bpe",
            {"learn", "--input", text, "--merges", "3", "--min-frequency", "1", "--output", to,
             "--num-workers", "1"},
            {"codes"}};
  }
};

}  // namespace

TEST_CASE("out of memory: lm_train") {
  const Models models;
  check_every_allocation(models.lm_train("run"));
}
TEST_CASE("out of memory: mt_train") {
  const Models models;
  check_every_allocation(models.mt_train("run"));
}
TEST_CASE("out of memory: what uses models and text") {
  const Models models;
  const std::string lm = models / "lm", mt = models / "mt";
  const Strings results{"result"};
  const auto with = [&](Strings arguments, bool threads = true) {
    for (const char* a : {"--output", "result"}) arguments.emplace_back(a);
    if (threads)
      for (const char* a : {"--threads", "1"}) arguments.emplace_back(a);
    return arguments;
  };
  for (const ShortRun& run :
       {ShortRun{"lm_score", with({"--checkpoint", lm, "--input", models.text}), results},
        {"lm_score",
         with({"--checkpoint", lm, "--input", models.text, "--generate", "--max-words", "3"}),
         results},
        {"mt_translate",
         with({"--checkpoint", mt, "--input", models.text, "--beam", "3", "--max-length", "5"}),
         results},
        {"nine_report", with({lm, mt}, false), results},
        {"kernel_inspect", with({"--explain", "lstm"}, false), results},
        {"bpe",
         with({"apply", "--codes", models.codes, "--input", models.text, "--num-workers", "1"},
              false),
         results},
        {"bpe", with({"vocab", "--input", models.text}, false), results},
        models.learn("codes")})
    check_every_allocation(run);
}
