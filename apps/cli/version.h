// What --version prints.
#pragma once

#include <string>

#include "core/version.h"

namespace nine::app {

/// What --version prints: kVersionLine, the instruction set in use and the library of products.
/// Error: NINE_ISA or NINE_GEMM name what cannot be used.
std::string version_text();

}  // namespace nine::app
