// The instruction sets this program was built for, and whether the CPU at hand has them.
#pragma once

#include <string>

namespace nine {

/// What the build relies on beyond x86-64: "avx2 fma avx512f ..."; recorded in config.json, since
/// results depend on it.
const char* built_for();

/// The first instruction set that the build relies on and this CPU lacks; empty when there is none.
/// A program with such a lack ends before main with a sentence instead of SIGILL.
std::string missing_instruction_set();

}  // namespace nine
