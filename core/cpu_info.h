// The instruction sets this program was built for, and whether the CPU at hand has them.
#pragma once

#include <string>

namespace nine {

/// The instruction sets beyond x86-64 that this build uses: "avx2 fma avx512f ...". Results depend
/// on them, so config.json records them.
const char* built_for();

/// The first instruction set that the build uses and this CPU does not have; empty when there is
/// none. A check that runs before main prints it and exits with 1, so that a program on the wrong
/// CPU ends with an error and not with SIGILL.
std::string missing_instruction_set();

}  // namespace nine
