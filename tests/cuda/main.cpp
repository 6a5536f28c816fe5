// The main of CUDA's tests, on a GPU or on the stand-in: without either, the whole program is
// skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>

#include "cuda/cuda.h"
#include "kernels/install_cuda.h"
#include "tests/support/skip.h"

int main(int argc, char** argv) {
  nine::install_cuda();
  if (nine::cuda::devices() == 0) {
    const bool wanted = std::getenv("NINE_GPU_TESTS") != nullptr;
    std::cout << (wanted ? "NINE_GPU_TESTS is set (tests/gpu.sh), and there is no GPU"
                         : "skipped: no GPU")
              << " that CUDA can use\n";
    return wanted ? 1 : nine::tests::kSkipped;
  }
  doctest::Context context;
  context.applyCommandLine(argc, argv);
  return context.run();
}
