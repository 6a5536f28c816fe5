#include "apps/cli/version.h"

#include "core/error.h"
#include "core/gemm.h"
#include "core/instruction_set.h"
#include "cuda/cuda.h"
#include "cuda/environment.h"

namespace nine::app {

namespace {

std::string cuda_text() {
  if (!cuda::built()) return "not built; cmake -DNINE_CUDA=ON builds it (docs/cuda.md)";
  const std::string settings = cuda::settings_that_change_bits();
  return settings.empty() ? "built" : "built; set, and changing bits: " + settings;
}

}  // namespace

std::string version_text() {
  return concat(kVersionLine, "\ninstruction set: ", instruction_set(),
                "\nmatrix products: ", gemm_description(), "\nCUDA: ", cuda_text(), "\n");
}

}  // namespace nine::app
