// What docs/compatibility.md promises: files of earlier versions open (tests/apps/0.1.0 holds two
// runs that the programs of 0.1.0 left), and the version that every program and checkpoint names.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/version.h"
#include "core/gemm.h"
#include "core/instruction_set.h"
#include "core/safetensors.h"
#include "cuda/cuda.h"
#include "nn/models/language_model.h"
#include "nn/models/translator.h"
#include "tests/support/programs.h"

namespace nine::tests::test_compatibility {

#ifndef NINE_VERSION  // tests/CMakeLists.txt: project()'s
#error "NINE_VERSION is not defined"
#endif

namespace {

namespace fs = std::filesystem;

const fs::path kOld = fs::path(NINE_SOURCE_DIR) / "tests/apps/0.1.0";

std::vector<double> numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<double> all;
  for (double x = 0; in >> x;) all.push_back(x);
  return all;
}

// To float32's accuracy: another instruction set sums in another order.
void check_close(const std::vector<double>& now, const std::vector<double>& before) {
  REQUIRE(now.size() == before.size());
  for (size_t i = 0; i < now.size(); ++i)
    CHECK(std::abs(now[i] - before[i]) < 1e-5 * std::abs(before[i]));
}

// Runs a program in a folder, as the user of relative paths does.
Outcome run_in(const fs::path& folder, const std::string& program,
               const std::vector<std::string>& arguments) {
  return Program(program, arguments, {}, [&] { fs::current_path(folder); }).wait();
}

// A copy of an old run with its text, made to be this machine's: a run goes on only with the
// instruction set and the GEMM library that it began with.
void copy_run(const std::string& task, const fs::path& to) {
  fs::copy(kOld / task, to, fs::copy_options::recursive);
  Json config = Json::parse(slurp(to / "run/config.json"));
  REQUIRE(config["resolved"]["version"] == "0.1.0");
  config["resolved"]["instruction_set"] = to_text(instruction_set());
  config["resolved"]["gemm"] = gemm_description();
  put(to / "run/config.json", config.dump());
}

// nats per token at the last validation.
double last_validation(const fs::path& run) {
  double nll = 0;
  for (const Json& event : log_of(run.string()))
    if (event["event"] == "valid") nll = event["nll"];
  return nll;
}

// The version that a run's files name.
void check_version(const fs::path& run) {
  const fs::path checkpoint = run / "checkpoints/latest";
  CHECK(read_safetensors((checkpoint / "model.safetensors").string()).metadata.at("nine_version") ==
        NINE_VERSION);
  for (const fs::path& config : {run / "config.json", checkpoint / "config.json"})
    CHECK(Json::parse(slurp(config))["resolved"]["version"] == NINE_VERSION);
}

const std::vector<std::string> kLmFlags{
    "--train", "train.txt", "--valid", "valid.txt", "--layers", "1",  "--hidden", "4",
    "--embed", "4",         "--batch", "2",         "--bptt",   "5",  "--head",   "mix2",
    "--lr",    "0.02",      "--keep",  "1",         "--run",    "run"};
const std::vector<std::string> kMtFlags{
    "--src",       "train.de", "--tgt",          "train.en", "--valid-src", "valid.de",
    "--valid-tgt", "valid.en", "--layers",       "1",        "--hidden",    "2",
    "--heads",     "1",        "--ffn",          "4",        "--dropout",   "0",
    "--keep",      "1",        "--batch-tokens", "24",       "--optimizer", "sgd",
    "--lr",        "0.2",      "--schedule",     "constant", "--run",       "run"};

std::vector<std::string> with(std::vector<std::string> flags, const std::string& after) {
  flags.insert(flags.end(), {"--after", after});
  return flags;
}

}  // namespace

TEST_CASE("version: project()'s, in every program") {
  CHECK(std::string(kVersion) == NINE_VERSION);
  for (const char* program :
       {"bpe", "kernel_inspect", "lm_train", "lm_score", "lm_rescore", "mt_train", "mt_translate",
        "nine_convert", "nine_report", "nine_serve"})
    CHECK(
        run_program(program, {"--version"}).out ==
        concat("nine " NINE_VERSION "\ninstruction set: ", instruction_set(),
               "\nmatrix products: ", gemm_description(), "\nCUDA: ",
               cuda::built() ? "built" : "not built; cmake -DNINE_CUDA=ON builds it (docs/cuda.md)",
               "\n"));
}

TEST_CASE("version: the changelog has an entry for it") {
  const std::string text = slurp(fs::path(NINE_SOURCE_DIR) / "CHANGELOG.md");
  CHECK_MESSAGE(text.find("\n## [" NINE_VERSION "]") != std::string::npos,
                "CHANGELOG.md has no heading ## [", NINE_VERSION, "]");
}

// The numbers are those that the programs of 0.1.0 printed (AVX2, libxsmm).
TEST_CASE("compatibility: a language model of 0.1.0 opens") {
  const std::string checkpoint = (kOld / "lm/run/checkpoints/00000012").string();
  CHECK(!read_safetensors(checkpoint + "/model.safetensors").metadata.contains("nine_version"));
  const std::string text = slurp(kOld / "lm/valid.txt");
  const Outcome scored = run_program("lm_score", {"--checkpoint", checkpoint}, text);
  REQUIRE_MESSAGE(scored.code == 0, scored.err);
  check_close(numbers(scored.out), {-15.276731628169852, -11.423630260141522});

  std::vector<double> sums;
  for (const auto& log_p :
       LanguageModel::load(checkpoint).score({"the dog sees a cat .", "a cat runs ."}))
    sums.push_back(std::accumulate(log_p.begin(), log_p.end(), 0.0));
  check_close(sums, {-15.276731628169852, -11.423630260141522});
}

TEST_CASE("compatibility: a language model of 0.1.0 is a start of weights") {
  const Scratch here;
  fs::copy(kOld / "lm", here.path(), fs::copy_options::recursive);
  std::vector<std::string> flags = with(kLmFlags, "1u");
  flags.insert(flags.end(), {"--init", "run/checkpoints/00000012"});
  *std::find(flags.begin(), flags.end(), "0.02") = "1e-30";  // no step
  *std::find(flags.begin(), flags.end(), "run") = "new";
  const Outcome run = run_in(here.path(), "lm_train", flags);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Outcome scored =
      run_program("lm_score", {"--checkpoint", here / "new"}, slurp(kOld / "lm/valid.txt"));
  check_close(numbers(scored.out), {-15.276731628169852, -11.423630260141522});
  check_version(here / "new");
}

TEST_CASE("compatibility: a run of 0.1.0 goes on as its own program did") {
  const Scratch here;
  SUBCASE("lm_train") {
    copy_run("lm", here / "lm");
    const Outcome run = run_in(here / "lm", "lm_train", with(kLmFlags, "8e"));
    REQUIRE_MESSAGE(run.code == 0, run.err);
    CHECK(run.err.find("going on from step 12 of run") != std::string::npos);
    check_close({last_validation(here / "lm/run")}, {2.2239255289789797});
    // It leaves the remainder of an epoch out as it did, and its config.json still says nothing of
    // it: each update has 2 columns of 5 rows.
    const Json config = Json::parse(slurp(here / "lm/run/config.json")),
               state = Json::parse(slurp(here / "lm/run/checkpoints/latest/state.json"));
    CHECK(!config["resolved"].contains("remainder"));
    CHECK(config["resolved"]["head_block_rows"] == 64);  // a fresh run on AVX-512 takes 160
    CHECK(state["tokens"] == 10 * state["step"].get<int64_t>());
    CHECK(read_safetensors((here / "lm/run/checkpoints/latest/model.safetensors").string())
              .metadata.at("nine_version") == NINE_VERSION);
  }
  SUBCASE("mt_train") {
    copy_run("mt", here / "mt");
    const Outcome run = run_in(here / "mt", "mt_train", with(kMtFlags, "18e"));
    REQUIRE_MESSAGE(run.code == 0, run.err);
    CHECK(run.err.find("going on from step 18 of run") != std::string::npos);
    check_close({last_validation(here / "mt/run")}, {3.03433094293288});
  }
}

TEST_CASE("compatibility: a run of another instruction set does not go on") {
  const Scratch here;
  copy_run("lm", here / "lm");
  Json config = Json::parse(slurp(here / "lm/run/config.json"));
  config["resolved"]["instruction_set"] = "abacus";
  put(here / "lm/run/config.json", config.dump());
  const Outcome run = run_in(here / "lm", "lm_train", with(kLmFlags, "8e"));
  CHECK(run.code == 2);
  CHECK(run.err.find("holds a run whose instruction_set was \"abacus\"") != std::string::npos);
  CHECK(run.err.find("this build has no code for abacus") != std::string::npos);
}

TEST_CASE("compatibility: a translation model of 0.1.0 opens") {
  const std::string checkpoint = (kOld / "mt/run/checkpoints/00000018").string();
  const std::vector<double> before{-14.212673255330742, -19.265989783785045, -12.980793293025544,
                                   -20.05544922472294, -13.237711394538362};
  const Outcome scored = run_program(
      "mt_translate", {"--checkpoint", checkpoint, "--score-given", kOld / "mt/train.en"},
      slurp(kOld / "mt/train.de"));
  REQUIRE_MESSAGE(scored.code == 0, scored.err);
  check_close(numbers(scored.out), before);

  const auto log_p =
      Translator::load(checkpoint).score({"die katze schläft ."}, {"the cat sleeps ."});
  REQUIRE(log_p.size() == 1);
  check_close({std::accumulate(log_p[0].begin(), log_p[0].end(), 0.0)}, {before[0]});
}

TEST_CASE("compatibility: new runs name their version") {
  const Scratch here;
  for (const char* task : {"lm", "mt"}) {
    fs::create_directory(here / task);
    for (const auto& file : fs::directory_iterator(kOld / task))
      if (file.is_regular_file()) fs::copy(file.path(), here / task);
  }
  REQUIRE(run_in(here / "lm", "lm_train", with(kLmFlags, "1e")).code == 0);
  check_version(here / "lm/run");
  CHECK(Json::parse(slurp(here / "lm/run/config.json"))["resolved"]["remainder"] == "read");
  REQUIRE(run_in(here / "mt", "mt_train", with(kMtFlags, "1e")).code == 0);
  check_version(here / "mt/run");
}

}  // namespace nine::tests::test_compatibility
