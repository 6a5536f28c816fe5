// On what of a machine a run's bits depend, as its config.json says it under "resolved":
// instruction set, library of products, GPU.
#pragma once

#include <string>
#include <vector>

#include "core/device.h"
#include "core/json.h"

namespace nine::app {

/// The value of config.json's "instruction_set" or "gemm" as this version writes it. Up to 0.2.0
/// the first listed the compiler's features ("sse4.2 avx avx2 fma bmi2"), and products were
/// compiled for the CPU at hand, by other names for the same code ("libxsmm 1.17 (clx)"). Other
/// keys' values are returned as they are.
Json in_present_form(const std::string& key, const Json& value);

/// How a run of instruction set `was`, another than the one in use, goes on: "start it with
/// NINE_ISA=avx2", or why it cannot go on with this build or on this CPU.
std::string how_to_go_on(const std::string& was);

/// The keys of a run on a GPU: gpu, gpu_driver, cuda_runtime, cublas and gpu_multiprocessors
/// (cuda/cuda.h), and gpu_environment (cuda/environment.h). Nothing on the CPU.
Json gpu_settings(Device device);

/// Error, which says how to go on: what a run in directory `path` came to (`before`) is not what it
/// comes to now, and its bits depend on it; "version" may differ, and inputs are compared elsewhere
/// (compare_configs). With `other_gpu` the keys
/// of gpu_settings() may too, and the differences are returned.
std::vector<std::string> require_same_machine(const std::string& path, const Json& before,
                                              const Json& now, bool other_gpu);

}  // namespace nine::app
