#include "apps/training/instruction_set_of_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/training/run_inputs.h"
#include "core/error.h"
#include "core/instruction_set.h"
#include "cuda/cuda.h"
#include "cuda/environment.h"

namespace nine::app {
namespace {

std::string instruction_set_text(const std::string& stored) {
  if (stored.find(' ') == std::string::npos) return stored;
  for (const auto& [feature, set] :
       {std::pair("avx512vl", InstructionSet::avx512), std::pair("avx2", InstructionSet::avx2)})
    if (stored.find(feature) != std::string::npos) return to_text(set);
  return to_text(InstructionSet::generic);
}

constexpr const char *kEnvironment = "gpu_environment", *kMultiprocessors = "gpu_multiprocessors";

// True if older versions did not record the key.
bool is_new(const std::string& key) { return key == kEnvironment || key == kMultiprocessors; }

bool is_of_gpu(const std::string& key) {
  return key == "gpu" || key == "gpu_driver" || key == "cuda_runtime" || key == "cublas" ||
         is_new(key);
}

// How a run goes on whose `key` was another value.
std::string way_on(const std::string& key, const Json& was) {
  if (key == kEnvironment)
    return "set these variables as they were to go on to the same bits, or give --other-gpu to go "
           "on to others";
  if (is_of_gpu(key)) return "give --other-gpu to go on, not to the same bits";
  if (was.is_string() && key == "instruction_set") return how_to_go_on(was.get<std::string>());
  if (was.is_string() && key == "gemm")
    for (const auto& [end, tiles] : {std::pair("pairs of bfloat16", "pairs"),
                                     std::pair("bfloat16 tiles emulated", "emulated")})
      if (was.get<std::string>().ends_with(end))
        return concat("start it with NINE_BF16_TILES=", tiles, " to go on to the same bits");
  return "it cannot go on to the same bits";
}

std::string gemm_text(std::string stored) {
  for (const char* same_as_skx : {"(clx)", "(cpx)"})
    if (const size_t at = stored.find(same_as_skx); at != std::string::npos)
      stored.replace(at, 5, "(skx)");
  return stored;
}

}  // namespace

Json in_present_form(const std::string& key, const Json& value) {
  if (!value.is_string()) return value;
  if (key == "instruction_set") return instruction_set_text(value.get<std::string>());
  if (key == "gemm") return gemm_text(value.get<std::string>());
  return value;
}

std::string how_to_go_on(const std::string& was) {
  const std::vector<InstructionSet> built = built_instruction_sets();
  const auto set =
      std::find_if(built.begin(), built.end(), [&](InstructionSet s) { return to_text(s) == was; });
  if (set == built.end()) return "this build has no code for " + was;
  const std::string missing = missing_feature(*set);
  return missing.empty() ? "start it with NINE_ISA=" + was + " to go on to the same bits"
                         : "this CPU has no " + missing;
}

Json gpu_settings(Device device) {
  Json out = Json::object();
  if (device.kind != DeviceKind::cuda) return out;
  const cuda::Description gpu = cuda::describe(device.index);
  out["gpu"] = gpu.gpu;
  out["gpu_driver"] = gpu.driver;
  out["cuda_runtime"] = gpu.runtime;
  out["cublas"] = gpu.cublas;
  out[kMultiprocessors] = gpu.multiprocessors;
  out[kEnvironment] = cuda::settings_that_change_bits();
  return out;
}

std::vector<std::string> require_same_machine(const std::string& path, const Json& before,
                                              const Json& now, bool other_gpu) {
  std::vector<std::string> passed;
  for (const auto& [key, value] : now.items()) {
    const Json was = in_present_form(key, before.value(key, Json()));
    if (key == "version" || key == kIdentity || was == value || (is_new(key) && was.is_null()))
      continue;
    const std::string difference = concat(
        key, " was ", was.is_null() ? "not recorded" : json_text(was), ", now ", json_text(value));
    if (!is_of_gpu(key) || !other_gpu)
      throw UsageError(concat(path, " holds a run whose ", difference, "; ", way_on(key, was),
                              "; or use --restart or another --run"));
    passed.push_back("--other-gpu: " + difference);
  }
  return passed;
}

}  // namespace nine::app
