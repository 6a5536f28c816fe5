// On which instruction set and library of products a run's bits depend, as its config.json says it.
#pragma once

#include <string>

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

}  // namespace nine::app
