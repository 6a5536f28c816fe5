#include "apps/cli/version.h"

#include "core/error.h"
#include "core/gemm.h"
#include "core/instruction_set.h"
#include "cuda/cuda.h"

namespace nine::app {

std::string version_text() {
  return concat(
      kVersionLine, "\ninstruction set: ", instruction_set(),
      "\nmatrix products: ", gemm_description(), "\nCUDA: ",
      cuda::built() ? "built" : "not built; cmake -DNINE_CUDA=ON builds it (docs/cuda.md)", "\n");
}

}  // namespace nine::app
