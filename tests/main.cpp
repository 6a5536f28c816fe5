// The test program's main: doctest with the backends installed.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "cuda/cuda.h"

int main(int argc, char** argv) {
  nine::cuda::install();
  doctest::Context context;
  context.applyCommandLine(argc, argv);
  return context.run();
}
