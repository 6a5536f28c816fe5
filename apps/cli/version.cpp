#include "apps/cli/version.h"

#include "core/error.h"
#include "core/gemm.h"
#include "core/instruction_set.h"
#include "cuda/cuda.h"

namespace nine::app {

// NINE_VERSION is defined by apps/CMakeLists.txt for this file alone.
const char* const kVersion = NINE_VERSION;
const char* const kVersionLine = "nine " NINE_VERSION;

std::string version_text() {
  return concat(
      kVersionLine, "\ninstruction set: ", instruction_set(),
      "\nmatrix products: ", gemm_description(), "\nCUDA: ",
      cuda::built() ? "built" : "not built; cmake -DNINE_CUDA=ON builds it (docs/cuda.md)", "\n");
}

}  // namespace nine::app
