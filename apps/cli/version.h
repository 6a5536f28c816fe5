// The version of the programs: what --version prints, and what checkpoints name.
#pragma once

#include <string>

namespace nine::app {

extern const char* const kVersion;      ///< project(VERSION) of CMakeLists.txt: "0.2.0"
extern const char* const kVersionLine;  ///< "nine 0.2.0"

/// What --version prints: kVersionLine, the instruction set in use and the library of products.
/// Error: NINE_ISA or NINE_GEMM name what cannot be used.
std::string version_text();

}  // namespace nine::app
