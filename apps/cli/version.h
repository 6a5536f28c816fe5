// The text of --version.
#pragma once

#include <string>

#include "core/version.h"

namespace nine::app {

/// Returns the text of --version: kVersionLine, the instruction set in use and the library of
/// matrix products. Error: NINE_ISA or NINE_GEMM has a value that cannot be used.
std::string version_text();

}  // namespace nine::app
