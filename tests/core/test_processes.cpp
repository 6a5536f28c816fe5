// Runs of several processes (docs/scale-out.md): the same bits as one makes, after faults too.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/error.h"
#include "core/gemm.h"
#include "core/json.h"
#include "tests/support/processes.h"

namespace nine::tests::test_processes {
namespace {

using Strings = std::vector<std::string>;

// A model of five blocks of 32,768 elements, so that up to four processes share them out unevenly.
Strings lm_flags(const std::string& run, int accumulate, const Strings& more) {
  Strings all{"--sample",
              "--sample-sentences",
              "400",
              "--layers",
              "1",
              "--hidden",
              "72",
              "--embed",
              "72",
              "--log-every",
              "3",
              "--save-every",
              "6u",
              "--accumulate",
              std::to_string(accumulate),
              "--run",
              run};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Strings mt_flags(const std::string& run, int accumulate, const Strings& more) {
  Strings all{"--sample",
              "--sample-pairs",
              "300",
              "--batch-tokens",
              "200",
              "--hidden",
              "64",
              "--ffn",
              "128",
              "--heads",
              "2",
              "--encoder-layers",
              "1",
              "--decoder-layers",
              "1",
              "--log-every",
              "2",
              "--valid-beam",
              "0",
              "--accumulate",
              std::to_string(accumulate),
              "--run",
              run};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The log without what depends on the number of processes.
std::string log_text(const std::string& run) {
  std::string out;
  for (Json e : log_of(run)) {
    for (const char* key :
         {"time_s", "tokens_per_s", "ms_per_step", "peak_mib", "threads", "ranks"})
      e.erase(key);
    if (e["event"] != "resume") out += e.dump() + "\n";
  }
  return out;
}

// state.json without times.
Json state_of(const std::string& run) {
  Json state = parse_json_object(slurp(run + "/checkpoints/latest/state.json"));
  REQUIRE(state.is_object());
  state.erase("time_s");
  state.erase("crc32c");
  state["window"].erase("seconds");
  return state;
}

void check_same_run(const std::string& a, const std::string& b) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    CAPTURE(file);
    const std::string path = std::string("/checkpoints/latest/") + file;
    CHECK(slurp(a + path).size() > 100);
    CHECK((slurp(a + path) == slurp(b + path)));
  }
  CHECK(log_text(a) == log_text(b));
  Json first = state_of(a), second = state_of(b);
  for (Json* state : {&first, &second}) (*state)["files"].erase("config.json");  // has --run
  CHECK(first == second);
}

// Runs with 1 (without mpirun), 2 and 4 processes, as far as they divide `accumulate`.
template <class Flags>
void check_same_bits(const std::string& program, int accumulate, const Strings& more,
                     const Flags& flags) {
  CAPTURE(accumulate);
  CAPTURE(more.front());
  const Scratch dir;
  Strings alone = flags(dir / "1", accumulate, more);
  alone.insert(alone.end(), {"--threads", "2"});
  REQUIRE(run_program(program, alone).code == 0);
  for (const int processes : {2, 4}) {
    if (accumulate % processes != 0) continue;
    CAPTURE(processes);
    const std::string run = dir / std::to_string(processes);
    const Outcome o =
        under_mpirun(processes, program, flags(run, accumulate, more), {.shared = accumulate == 8})
            .wait();
    REQUIRE_MESSAGE(o.code == 0, o.err);
    check_same_run(dir / "1", run);
  }
}

const Strings kColumns{"--batch", "2", "--bptt", "6", "--after", "9u", "--valid-every", "6u"};

Strings columns(const Strings& more) {
  Strings all = more;
  all.insert(all.end(), kColumns.begin(), kColumns.end());
  return all;
}

// A run that takes some seconds.
Strings long_flags(const std::string& run) {
  return lm_flags(run, 4,
                  {"--after", "160u", "--batch", "4", "--bptt", "8", "--valid-every", "100u"});
}

bool has_checkpoint(const std::string& run, const char* step) {
  return std::filesystem::exists(run + "/checkpoints/" + step);
}

}  // namespace

TEST_CASE("processes: 1, 2 and 4 make the same run of lm_train" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  check_same_bits("lm_train", 4, columns({"--head", "mix:3*lin", "--pi-reg", "cv2:0.1"}), lm_flags);
  check_same_bits(
      "lm_train", 6,
      columns({"--head", "log", "--clip", "0.1", "--variational", "--dropout-output", "0.2"}),
      lm_flags);
  check_same_bits("lm_train", 8,
                  columns({"--head", "mix:rbf,hpb", "--ar", "2", "--tar", "1", "--optimizer",
                           "asgd", "--lr", "5", "--asgd-start", "3"}),
                  lm_flags);
  check_same_bits("lm_train", 12,
                  columns({"--head", "lin", "--margin", "cos:0.2", "--context-norm", "max:ema"}),
                  lm_flags);
}

TEST_CASE("processes: the end of an epoch, where some have no token" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  // 225 tokens in 20 columns: 12 rows, of which the last has five tokens, all of the first
  // process'.
  const Scratch dir;
  std::string text;
  for (int i = 0; i < 45; ++i) text += concat("the cat", i % 7, " saw dog", i % 11, "\n");
  put(dir / "train.txt", text);
  const auto flags = [&](const std::string& run, int accumulate, const Strings& more) {
    Strings all{"--train",      dir / "train.txt",
                "--valid",      dir / "train.txt",
                "--layers",     "1",
                "--hidden",     "8",
                "--embed",      "8",
                "--batch",      "5",
                "--accumulate", std::to_string(accumulate),
                "--after",      "3e",
                "--run",        run};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  check_same_bits("lm_train", 4, {"--bptt", "11", "--head", "mix:2*lin"}, flags);
  check_same_bits("lm_train", 4, {"--bptt", "7", "--ar", "2", "--tar", "1"}, flags);
}

TEST_CASE("processes: 1, 2 and 4 make the same run of a Transformer language model" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  const auto flags = [](const std::string& run, int accumulate, const Strings& more) {
    Strings all = lm_flags(run, accumulate, more);
    const auto embed = std::find(all.begin(), all.end(), "--embed");
    all.erase(embed, embed + 2);
    all.insert(all.end(),
               {"--arch", "transformer", "--heads", "4", "--ffn", "80", "--warmup", "5"});
    return all;
  };
  check_same_bits("lm_train", 4, columns({"--head", "mix:lin,log", "--tar", "1"}), flags);
  check_same_bits("lm_train", 4,
                  columns({"--sampled-softmax", "30", "--lazy-adam", "--margin", "cos:0.1"}),
                  flags);
  check_same_bits("lm_train", 4,
                  {"--sentences", "--batch", "30", "--after", "2e", "--positions", "sinusoidal"},
                  flags);
  for (const char* optimizer : {"muon", "lion"})
    check_same_bits("lm_train", 4,
                    columns({"--positions", "rotary", "--norm-type", "rms", "--activation",
                             "swiglu", "--kv-heads", "2", "--qk-norm", "--no-linear-bias",
                             "--recompute", "--optimizer", optimizer, "--weight-decay", "0.1"}),
                    flags);
}

TEST_CASE("processes: --arch llama, begun with two and ended with one, is one run" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const Scratch dir;
  const auto flags = [&](const char* run, const char* after) {
    return Strings{"--sample",
                   "--sample-sentences",
                   "300",
                   "--arch",
                   "llama",
                   "--layers",
                   "1",
                   "--hidden",
                   "32",
                   "--heads",
                   "4",
                   "--kv-heads",
                   "2",
                   "--qk-norm",
                   "--batch",
                   "3",
                   "--bptt",
                   "9",
                   "--accumulate",
                   "2",
                   "--optimizer",
                   "muon",
                   "--schedule",
                   "cosine",
                   "--schedule-length",
                   "12u",
                   "--order",
                   "file",
                   "--after",
                   after,
                   "--run",
                   dir / run};
  };
  REQUIRE(run_program("lm_train", flags("whole", "12u")).code == 0);
  const Outcome begun = under_mpirun(2, "lm_train", flags("parts", "5u")).wait();
  REQUIRE_MESSAGE(begun.code == 0, begun.err);
  REQUIRE(run_program("lm_train", flags("parts", "12u")).code == 0);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const std::string path = std::string("/checkpoints/latest/") + file;
    CHECK((slurp((dir / "whole").string() + path) == slurp((dir / "parts").string() + path)));
  }
}

TEST_CASE("processes: weights of words, with columns and sentences" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  const Scratch dir;
  const std::string weights = dir.write("weights.txt", "</s> 0.25\nthe 3\na 0\n");
  check_same_bits("lm_train", 4, columns({"--class-weights", weights}), lm_flags);
  check_same_bits("lm_train", 4,
                  {"--class-weights", weights, "--sentences", "--batch", "7", "--after", "1e"},
                  lm_flags);
  check_same_bits("mt_train", 4,
                  {"--class-weights", dir.write("mt.txt", "</s> 0.25\nthe 3\n"), "--after", "6u"},
                  mt_flags);
}

TEST_CASE("processes: learned numbers of a head, frozen parameters" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  check_same_bits(
      "lm_train", 4,
      columns({"--head", "mix:rbf:gamma=learn:scale=learn:3,expr:{s*tanh(z/s)}:s=learn:9",
               "--freeze", "embedding.*"}),
      lm_flags);
}

TEST_CASE("processes: sampled softmax, and sentences whose last update is not full" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  check_same_bits("lm_train", 4, columns({"--sampled-softmax", "30", "--lazy-adam"}), lm_flags);
  check_same_bits("lm_train", 4,
                  columns({"--sampled-softmax", "30", "--tie-embeddings", "--optimizer", "sgd",
                           "--momentum", "0.9"}),
                  lm_flags);
  // 14 batches an epoch: the last update has two, so that of four processes two have nothing.
  check_same_bits("lm_train", 4,
                  {"--head", "log", "--sentences", "--batch", "30", "--after", "2e", "--ar", "1"},
                  lm_flags);
}

TEST_CASE("processes: 1, 2 and 4 make the same run of mt_train" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  check_same_bits("mt_train", 4, {"--head", "pow", "--after", "1e"}, mt_flags);
  check_same_bits("mt_train", 6,
                  {"--head", "mix:2*lin", "--after", "1e", "--optimizer", "asgd", "--lr", "1"},
                  mt_flags);
  check_same_bits("mt_train", 8, {"--head", "rbf", "--clip", "0.1", "--after", "1e"}, mt_flags);
  check_same_bits("mt_train", 12,
                  {"--head", "mix:lin,log", "--pi-reg", "cv2:0.1", "--after", "1e", "--optimizer",
                   "sgd", "--momentum", "0.9", "--lr", "1"},
                  mt_flags);
}

TEST_CASE("processes: every kind of head" * doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  check_same_bits("lm_train", 4, columns({"--head", "mix:lin,log,pow,pol,rbf,ssg,mog,hpb,wav,sig"}),
                  lm_flags);
  check_same_bits("mt_train", 4,
                  {"--head", "mix:lin,log,pow,pol,rbf,ssg,mog,hpb,wav,sig", "--after", "4u"},
                  mt_flags);
}

TEST_CASE("processes: killed with four, goes on with two and with one to the same bits" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const Scratch dir;
  REQUIRE(run_program("lm_train", long_flags(dir / "alone")).code == 0);
  const std::string run = dir / "run";
  Program four = under_mpirun(4, "lm_train", long_flags(run));
  REQUIRE(soon([&] { return has_checkpoint(run, "00000012"); }));
  kill(process_of_rank(four, 2), SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(four.wait().code == 128 + SIGKILL);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
  Program two = under_mpirun(2, "lm_train", long_flags(run));
  REQUIRE(soon([&] { return has_checkpoint(run, "00000060"); }));
  two.signal(SIGUSR1);  // mpirun hands it on
  const Outcome stopped = two.wait();
  CHECK(stopped.code == 130);
  CHECK(stopped.err.find("is saved, the same command goes on from there") != std::string::npos);
  const Outcome last = run_program("lm_train", long_flags(run));
  CHECK(last.code == 0);
  CHECK(last.err.find("going on from step") != std::string::npos);
  check_same_run(dir / "alone", run);
}

TEST_CASE("processes: one that hangs, or is told to stop, ends all" *
          doctest::test_suite("check needs mpirun")) {
  if (!has_mpirun()) return;
  const Scratch dir;
  const std::string run = dir / "run";
  Strings flags = long_flags(run);
  *std::find(flags.begin(), flags.end(), "160u") = "100000u";
  flags.insert(flags.end(), {"--mpi-timeout", "2"});
  Program hanging = under_mpirun(2, "lm_train", flags);
  REQUIRE(soon([&] { return has_checkpoint(run, "00000012"); }));
  kill(process_of_rank(hanging, 1), SIGSTOP);
  const Outcome hung = hanging.wait();
  CHECK(hung.code == 1);
  CHECK(hung.err.find("process 0 of 2 has waited for process 1 for 2 s") != std::string::npos);
  Program told = under_mpirun(2, "lm_train", flags);
  REQUIRE(soon([&] { return has_checkpoint(run, "00000024"); }));
  kill(process_of_rank(told, 1), SIGTERM);
  CHECK(told.wait().code == 130);
}

TEST_CASE("processes: what does not fit is refused" * doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const Scratch dir;
  const Outcome six = under_mpirun(4, "lm_train", lm_flags(dir / "six", 6, kColumns)).wait();
  CHECK(six.code == 2);
  CHECK(six.err.find("--accumulate 6 cannot be shared out among 4 processes") != std::string::npos);
  CHECK(six.err.find("start 2 processes, or 4 with --accumulate 4, 8 ...") != std::string::npos);
  // No --accumulate makes three processes do.
  const Outcome three = under_mpirun(3, "lm_train", lm_flags(dir / "three", 3, kColumns)).wait();
  CHECK(three.code == 2);
  CHECK(three.err.find("start 1 process, or 2 with --accumulate 2, 4 ...") != std::string::npos);
  const Outcome fits = under_mpirun(3, "lm_train", lm_flags(dir / "three", 2, kColumns)).wait();
  CHECK(fits.err.find("and must divide --accumulate; start 2 processes\n") != std::string::npos);
  // Another option on one of the processes.
  Strings flags = lm_flags(dir / "other", 2, kColumns);
  const Strings second = lm_flags(dir / "other", 2, columns({"--lr", "0.5"}));
  const Outcome other = under_mpirun(1, "lm_train", with_second(flags, "lm_train", second)).wait();
  CHECK(other.code == 2);
  CHECK(other.err.find("process 1 on ") != std::string::npos);
  CHECK(other.err.find("has --lr 0.5, where process 0 has 0.001") != std::string::npos);
  // Also what rank 0 alone uses.
  const std::string board = dir / "board";
  for (const auto& [option, value, said] :
       {std::tuple("--run", (dir / "elsewhere").string(), "--run \""),
        {"--tensorboard", board, "--tensorboard \""}}) {
    Strings others = lm_flags(dir / "other", 2, kColumns);
    if (const auto at = std::find(others.begin(), others.end(), option); at != others.end())
      *(at + 1) = value;
    else
      others.insert(others.end(), {option, value});
    const Outcome o = under_mpirun(1, "lm_train", with_second(flags, "lm_train", others)).wait();
    CHECK(o.code == 2);
    CHECK_MESSAGE(o.err.find(std::string("has ") + said) != std::string::npos, o.err);
  }
}

TEST_CASE("processes: other data or another library on one of them is refused" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const Scratch dir;
  const auto flags = [&](const std::string& train) {
    return Strings{"--train", dir / train, "--layers", "1",         "--hidden",     "16",
                   "--embed", "16",        "--batch",  "2",         "--bptt",       "6",
                   "--after", "3u",        "--run",    dir / "run", "--accumulate", "2"};
  };
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the dog runs\na cat sleeps\n";
  dir.write("here", text + "a dog sleeps\n");
  dir.write("there", text + "a cat runs\n");
  // The file has the same name on both machines, but another content: here another name.
  std::filesystem::create_directories(dir / "a");
  std::filesystem::create_directories(dir / "b");
  std::filesystem::copy(dir / "here", dir / "a/text");
  std::filesystem::copy(dir / "there", dir / "b/text");
  const auto start = [&](const std::string& folder, const Strings& environment) {
    Strings here{"-C", (dir / "a").string(), std::string(NINE_BIN_DIR) + "/lm_train"},
        there{"-C", (dir / folder).string()};
    Strings own = flags("run");
    own[1] = "text";
    here.insert(here.end(), own.begin(), own.end());
    here.insert(here.end(), {"--threads", "1", ":", "-n", "1", "/usr/bin/env"});
    there.insert(there.end(), environment.begin(), environment.end());
    there.push_back(std::string(NINE_BIN_DIR) + "/lm_train");
    here.insert(here.end(), there.begin(), there.end());
    here.insert(here.end(), own.begin(), own.end());
    return under_mpirun(1, "/usr/bin/env", here).wait();
  };
  const Outcome same = start("a", {});
  REQUIRE_MESSAGE(same.code == 0, same.err);
  const Outcome data = start("b", {});
  CHECK(data.code == 2);
  CHECK_MESSAGE(data.err.find("has other data, by checksum: --train ") != std::string::npos,
                data.err);
  const Outcome library = start("a", {"NINE_GEMM=eigen"});
  if (gemm_backend() == GemmBackend::eigen) return;
  CHECK(library.code == 2);
  CHECK_MESSAGE(library.err.find("has gemm \"eigen ") != std::string::npos, library.err);
}

TEST_CASE("processes: a full disk of the first one ends all" *
          doctest::test_suite("needs mpirun")) {
  if (!has_mpirun()) return;
  const Scratch dir;
  const auto begin = std::chrono::steady_clock::now();
  // A limit on the size of files stands in for the disk; mpirun itself has none.
  Strings flags{"--fsize=300000", std::string(NINE_BIN_DIR) + "/lm_train"};
  const Strings own = long_flags(dir / "run");
  flags.insert(flags.end(), own.begin(), own.end());
  const Outcome full = under_mpirun(2, "/usr/bin/prlimit", flags).wait();
  CHECK(full.code == 1);
  CHECK_MESSAGE(full.err.find("cannot write ") != std::string::npos, full.err);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

TEST_CASE("processes: a run of a version that summed in another order is refused") {
  const Scratch dir;
  // Versions that added the gradients of micro-batches one after another did not say how.
  const std::string run = dir / "old";
  REQUIRE(run_program("lm_train", lm_flags(run, 2, kColumns)).code == 0);
  Json config = parse_json_object(slurp(run + "/config.json"));
  REQUIRE(config["resolved"].erase("gradient_sum") == 1);
  dir.write("old/config.json", config.dump());
  Strings longer = kColumns;
  *std::find(longer.begin(), longer.end(), "9u") = "12u";
  const Outcome old = run_program("lm_train", lm_flags(run, 2, longer));
  CHECK(old.code == 2);
  CHECK_MESSAGE(old.err.find("use --restart") != std::string::npos, old.err);
}

}  // namespace nine::tests::test_processes
