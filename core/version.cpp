#include "core/version.h"

namespace nine {

// NINE_VERSION is defined by CMakeLists.txt for this file alone.
const char* const kVersion = NINE_VERSION;
const char* const kVersionLine = "nine " NINE_VERSION;

}  // namespace nine
