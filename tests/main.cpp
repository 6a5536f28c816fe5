// The test program's main: doctest with the backends installed. NINE_TEST_BF16=1 in the environment
// computes products of float32 by the emulation of bfloat16 tiles (core/bf16_product.h).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "core/bf16_product.h"
#include "kernels/install_cuda.h"

int main(int argc, char** argv) {
  nine::install_cuda();
  nine::bf16::use_emulation(std::getenv("NINE_TEST_BF16") != nullptr);
  doctest::Context context;
  context.applyCommandLine(argc, argv);
  return context.run();
}
