#include "tests/faults/failing_calls.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "tests/support/support.h"

namespace nine::tests {
namespace {

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

Program start(const ShortRun& run, const fs::path& directory, const std::string& wish) {
  return Program(run.program, run.arguments, {}, [=] {
    setenv("LD_PRELOAD", NINE_FAIL_CALLS, 1);
    setenv("NINE_FAILING", wish.c_str(), 1);
    if (chdir(directory.c_str()) != 0) _exit(126);
  });
}

long number_in(const fs::path& file) { return std::strtol(slurp(file).c_str(), nullptr, 10); }

// What a run that has failed has left is nothing, or as in the whole run.
void check_left(const ShortRun& run, const Failing& failing, const fs::path& failed,
                const fs::path& whole) {
  for (const std::string& file : run.results) {
    if (!fs::exists(failed / file)) continue;
    const std::string text = slurp(failed / file);
    // A report says of a file that could not be read that it could not.
    const bool complete = run.program == "nine_report" ? text.ends_with("</html>\n")
                          : failing.cuts_results       ? slurp(whole / file).starts_with(text)
                                                       : text == slurp(whole / file);
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

void check_failure(const ShortRun& run, const Failing& failing, const fs::path& failed,
                   const fs::path& whole) {
  const auto status = static_cast<int>(number_in(failed / "status"));
  const std::string error = slurp(failed / "err");
  CAPTURE(error);
  if (failing.reasons.empty()) {
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    return check_left(run, failing, failed, whole);
  }
  REQUIRE_MESSAGE(WIFEXITED(status), "ended by signal ", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) {
    if (!run.trains) CHECK(slurp(failed / "out") == slurp(whole / "out"));
    for (const std::string& file : run.results) {
      CHECK(fs::exists(failed / file));
      if (!run.trains && run.program != "nine_report")
        CHECK_MESSAGE(slurp(failed / file) == slurp(whole / file), file);
    }
  } else {
    CHECK(WEXITSTATUS(status) == 1);
    CHECK(std::any_of(failing.reasons.begin(), failing.reasons.end(),
                      [&](const std::string& reason) { return has(error, reason); }));
  }
  check_left(run, failing, failed, whole);
}

// The same command continues what a failed training run has left.
void check_continues(const ShortRun& run, const fs::path& failed, const fs::path& whole) {
  const Outcome outcome = start(run, failed, "allocation count").wait();
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(weights_of(failed / "run") == weights_of(whole / "run"));
}

}  // namespace

void check_every_call(const ShortRun& run, const Failing& failing, bool sampled) {
  const Scratch dir(directory_for_runs());
  CAPTURE(run.program);
  CAPTURE(failing.kind);
  fs::create_directory(dir / "whole");
  const Outcome outcome = start(run, dir / "whole", failing.kind + " count").wait();
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  put(dir / "whole/out", outcome.out);
  const long all = number_in(dir / "whole/calls");
  REQUIRE(all >= failing.least_calls);
  long step = 1, first = 1;
  if (const char* share = std::getenv("NINE_ALLOCATIONS"); sampled && share != nullptr) {
    REQUIRE(std::sscanf(share, "%ld/%ld", &first, &step) == 2);
    REQUIRE((1 <= first && first <= step));
  } else if (sampled) {
    step = 17;
    first = 1 + std::time(nullptr) / 60 % step;
  }
  const long at_once = std::min(kAtOnce, all / (2 * step) + 1);
  const long pieces = (all + at_once * step) / (at_once * step);
  // Two processes at a time; each runs the program for its piece of the calls.
  for (long piece = 0; piece < pieces; piece += 2) {
    const auto bound = [&](long i) { return first + std::min(i, pieces) * at_once * step; };
    const auto wish = [&](long i) {
      return concat(failing.kind, " ", bound(i), " ", std::min(bound(i + 1), all + 1), " ", step);
    };
    Program one = start(run, dir.path(), wish(piece)),
            other = start(run, dir.path(), wish(piece + 1));
    CHECK(one.wait().code == 0);
    CHECK(other.wait().code == 0);
    for (long n = bound(piece); n < std::min(bound(piece + 2), all + 1); n += step) {
      CAPTURE(n);
      const fs::path failed = dir / std::to_string(n);
      check_failure(run, failing, failed, dir / "whole");
      if (run.trains && n % failing.continued == 0) check_continues(run, failed, dir / "whole");
      fs::remove_all(failed);
    }
  }
}

ShortRuns::ShortRuns() {
  const ShortRun transformer{
      "lm_train", {"--train", text,        "--arch", "transformer", "--hidden",           "4",
                   "--heads", "1",         "--ffn",  "4",           "--layers",           "1",
                   "--batch", "2",         "--bptt", "3",           "--no-head-bias",     "--after",
                   "1u",      "--threads", "1",      "--run",       *this / "transformer"}};
  for (const ShortRun& run :
       {lm_train(*this / "lm"), mt_train(*this / "mt"), transformer, learn(codes)}) {
    const Outcome outcome = run_program(run.program, run.arguments);
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  }
}

ShortRun ShortRuns::lm_train(const std::string& run) const {
  return {"lm_train",
          {"--train",  text, "--valid",   text, "--hidden", "4", "--embed", "4",
           "--layers", "1",  "--batch",   "2",  "--bptt",   "3", "--after", "2u",
           "--keep",   "9",  "--threads", "1",  "--run",    run},
          {},
          true};
}

ShortRun ShortRuns::mt_train(const std::string& run) const {
  return {"mt_train",
          {"--src",    text, "--tgt",   text, "--valid-src", text, "--valid-tgt", text,
           "--hidden", "4",  "--heads", "1",  "--ffn",       "4",  "--layers",    "1",
           "--after",  "1u", "--keep",  "9",  "--threads",   "1",  "--run",       run},
          {},
          true};
}

ShortRun ShortRuns::learn(const std::string& to) const {
  return {"bpe",
          {"learn", "--input", text, "--merges", "3", "--min-frequency", "1", "--output", to,
           "--num-workers", "1"},
          {"codes"}};
}

std::vector<ShortRun> ShortRuns::users() const {
  const std::string lm = *this / "lm", mt = *this / "mt";
  const Strings results{"result"};
  const auto with = [&](Strings arguments, bool threads = true) {
    for (const char* a : {"--output", "result"}) arguments.emplace_back(a);
    if (threads)
      for (const char* a : {"--threads", "1"}) arguments.emplace_back(a);
    return arguments;
  };
  return {
      {"lm_score", with({"--checkpoint", lm, "--input", text}), results},
      {"lm_score", with({"--checkpoint", lm, "--input", text, "--generate", "--max-words", "3"}),
       results},
      {"mt_translate",
       with({"--checkpoint", mt, "--input", text, "--beam", "3", "--max-length", "5"}), results},
      {"lm_rescore",
       with({"--checkpoint", lm, "--nbest", lists, "--reference", said, "--lambda", "1",
             "--resamples", "100"}),
       {"result/hyp.trn", "result/first.trn", "result/ref.trn", "result/utterances.tsv",
        "result/results.json"}},
      {"nine_convert",
       {"--from", *this / "transformer", "--to", "result"},
       {"result/config.json", "result/model.safetensors", "result/tokenizer.json",
        "result/tokenizer_config.json"}},
      {"nine_report", with({lm, mt}, false), results},
      {"kernel_inspect", with({"--explain", "lstm"}, false), results},
      {"bpe", with({"apply", "--codes", codes, "--input", text, "--num-workers", "1"}, false),
       results},
      {"bpe", with({"vocab", "--input", text}, false), results},
      {"bpe",
       with({"learn", "--bytes", "--vocab-size", "260", "--memory", "1K", "--input", text,
             "--num-workers", "1"},
            false),
       results},
      learn("codes")};
}

}  // namespace nine::tests
