// What no GPU does when it is asked to: calls of CUDA that fail, another card under a run. On the
// stand-in alone.
#ifdef NINE_CUDA_ON_HOST
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "cuda/cuda.h"
#include "tests/cuda/small_training.h"
#include "tests/cuda_on_host/card.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

using namespace nine;
using namespace nine::tests;

namespace {

using Environment = std::vector<std::pair<const char*, std::string>>;

Outcome train(const std::string& run, const Environment& environment, const char* after = "6u",
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"--sample", "--sample-sentences",
                                     "100",      "--layers",
                                     "1",        "--hidden",
                                     "4",        "--embed",
                                     "4",        "--batch",
                                     "2",        "--bptt",
                                     "3",        "--after",
                                     after,      "--save-every",
                                     "2u",       "--valid-every",
                                     "100u",     "--device",
                                     "cuda",     "--run",
                                     run,        "--threads",
                                     "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return Program("lm_train_on_host", arguments, {},
                 [&] {
                   for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
                 })
      .wait();
}

}  // namespace

TEST_CASE("cuda failures: whichever call of CUDA fails, training says so and can begin again") {
  const Trained expected = train_on(kGpu, "lin", DType::float32, 2);
  const int64_t begin = cuda_on_host::counts().calls;
  train_on(kGpu, "lin", DType::float32, 2);
  const int64_t calls = cuda_on_host::counts().calls - begin;
  const size_t blocks = cuda_on_host::card(0).memory.blocks();
  CAPTURE(calls);
  CHECK(calls > 100);
  for (int64_t n = 1; n <= calls; ++n) {
    CAPTURE(n);
    cuda_on_host::fail_call(n);
    Trained seen;
    const std::string said = error_of([&] { seen = train_on(kGpu, "lin", DType::float32, 2); });
    cuda_on_host::fail_call(0);
    if (said.empty()) {
      CHECK(seen.weights == expected.weights);  // it was a call that frees memory
    } else {
      CHECK_MESSAGE((has(said, "] CUDA: unknown error") || has(said, "] cuBLAS: status 13")), said);
    }
    CHECK(cuda_on_host::card(0).memory.blocks() == blocks);
  }
  const Trained after = train_on(kGpu, "lin", DType::float32, 2);
  CHECK(after.weights == expected.weights);
  CHECK(after.losses == expected.losses);
  CHECK(after.nll == expected.nll);
}

TEST_CASE("cuda failures: a run whose GPU fails goes on from its checkpoint to the same bits") {
  const TemporaryDirectory dir;
  const Outcome whole = train(dir / "whole", {});
  REQUIRE_MESSAGE(whole.code == 0, whole.err);
  for (const char* call : {"30", "400", "900"}) {
    CAPTURE(call);
    const Outcome failed = train(dir / call, {{"NINE_STAND_IN_FAIL", call}});
    CHECK(failed.code == 1);
    CHECK_MESSAGE(has(failed.err, "unknown error"), failed.err);
    const Outcome again = train(dir / call, {});
    CHECK_MESSAGE(again.code == 0, again.err);
    CHECK(weights_of(dir / call) == weights_of(dir / "whole"));
  }
}

TEST_CASE("cuda failures: a run goes on on another GPU only after being told") {
  const TemporaryDirectory dir;
  const std::string run = dir / "run";
  const auto resolved = [&] { return Json::parse(slurp(run + "/config.json"))["resolved"]; };
  const Outcome first = train(run, {{"NINE_STAND_IN_GPU", "Card A"}});
  REQUIRE_MESSAGE(first.code == 0, first.err);
  CHECK(resolved()["gpu"] == "Card A 0, compute capability 9.0");
  CHECK(has(resolved()["gpu_driver"].get<std::string>(), "CUDA 13.0"));
  CHECK(resolved()["cuda_runtime"] == "CUDA 13.0");
  CHECK(resolved()["cublas"] == "cuBLAS 13.0.0");

  CHECK(train(run, {{"NINE_STAND_IN_GPU", "Card A"}}, "8u").code == 0);
  const Outcome other = train(run, {{"NINE_STAND_IN_GPU", "Card B"}}, "10u");
  CHECK(other.code == 2);
  CHECK_MESSAGE(
      has(other.err,
          R"(holds a run whose gpu was "Card A 0, compute capability 9.0", now "Card B 0, )"
          R"(compute capability 9.0"; give --other-gpu to go on, not to the same bits; or )"
          "use --restart or another --run"),
      other.err);
  CHECK(resolved()["gpu"] == "Card A 0, compute capability 9.0");
  const Outcome told = train(run, {{"NINE_STAND_IN_GPU", "Card B"}}, "10u", {"--other-gpu"});
  CHECK_MESSAGE(told.code == 0, told.err);
  CHECK_MESSAGE(has(told.err, "--other-gpu: gpu was"), told.err);
  CHECK(resolved()["gpu"] == "Card B 0, compute capability 9.0");
  CHECK(train(run, {{"NINE_STAND_IN_GPU", "Card B"}}, "12u").code == 0);
  CHECK(train(run, {{"NINE_STAND_IN_GPU", "Card A"}}, "14u").code == 2);
}

TEST_CASE("cuda failures: settings of the environment that change bits are recorded and compared") {
  const TemporaryDirectory dir;
  const std::string run = dir / "run";
  const auto config = [&] { return Json::parse(slurp(run + "/config.json")); };
  const Environment set{{"NVIDIA_TF32_OVERRIDE", "0"}, {"CUBLAS_WORKSPACE_CONFIG", ":4096:8"},
                        {"CUBLAS_LOGINFO_DBG", "1"},   {"CUBLAS_ROOT", "/opt/cublas"},
                        {"CUDA_FORCE_PTX_JIT", "0"},   {"NINE_CUDA_SIDE_BY_SIDE", "1"},
                        {"NINE_CUDA_PIECES", "high"}};
  const std::string text = "CUBLAS_WORKSPACE_CONFIG=:4096:8, NVIDIA_TF32_OVERRIDE=0";
  const Outcome first = train(run, set);
  REQUIRE_MESSAGE(first.code == 0, first.err);
  CHECK(config()["resolved"]["gpu_environment"] == text);
  CHECK(config()["resolved"]["gpu_multiprocessors"] == 20);
  CHECK(train(run, set, "8u").code == 0);
  const Outcome unset = train(run, {}, "10u");
  CHECK(unset.code == 2);
  CHECK_MESSAGE(has(unset.err, "holds a run whose gpu_environment was \"" + text +
                                   "\", now \"\"; set these variables as they were to go on to "
                                   "the same bits, or give --other-gpu to go on to others"),
                unset.err);
  const Outcome told = train(run, {{"NINE_CUDA_SIDE_BY_SIDE", "0"}}, "10u", {"--other-gpu"});
  CHECK_MESSAGE(told.code == 0, told.err);
  CHECK(config()["resolved"]["gpu_environment"] == "NINE_CUDA_SIDE_BY_SIDE=0");
  // A run of a version that recorded neither goes on.
  Json older = config();
  for (const char* key : {"gpu_environment", "gpu_multiprocessors"}) older["resolved"].erase(key);
  dir.write("run/config.json", older.dump());
  const Outcome later = train(run, {}, "12u");
  CHECK_MESSAGE(later.code == 0, later.err);
  CHECK(config()["resolved"]["gpu_environment"] == "");

  // What breaks a promise is refused before the run has a directory.
  const Environment rounded{{"NVIDIA_TF32_OVERRIDE", "1"}};
  const Outcome refused = train(dir / "other", rounded);
  CHECK(refused.code == 1);
  CHECK_MESSAGE(has(refused.err, "and --matmul-precision highest promises 24: unset the variable"),
                refused.err);
  CHECK_FALSE(std::filesystem::exists(dir / "other"));
  CHECK(train(dir / "other", rounded, "6u", {"--matmul-precision", "high"}).code == 0);

  CHECK(train(dir / "pieces", {{"NINE_CUDA_PIECES", "highest"}}).code == 0);
  CHECK(Json::parse(slurp(dir / "pieces/config.json"))["resolved"]["gpu_environment"] ==
        "NINE_CUDA_PIECES=highest");
  const Outcome unknown = train(dir / "unknown", {{"NINE_CUDA_PIECES", "many"}});
  CHECK(unknown.code != 0);
  CHECK_MESSAGE(has(unknown.err, "NINE_CUDA_PIECES=many: must be highest, high or medium"),
                unknown.err);
  CHECK_FALSE(std::filesystem::exists(dir / "unknown"));

  const Outcome version = Program("lm_train_on_host", {"--version"}, {}, [] {
                            setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
                          }).wait();
  CHECK_MESSAGE(has(version.out, "CUDA: built; set, and changing bits: NVIDIA_TF32_OVERRIDE=0\n"),
                version.out);
}
#endif
