#include "apps/cli/version.h"

namespace nine::app {

const char* const kVersion = NINE_VERSION;  // defined by apps/CMakeLists.txt for this file alone
const char* const kVersionLine = "nine " NINE_VERSION;

}  // namespace nine::app
