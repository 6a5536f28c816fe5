// The test program's main: doctest with the backends installed.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "kernels/install_cuda.h"

int main(int argc, char** argv) {
  nine::install_cuda();
  doctest::Context context;
  context.applyCommandLine(argc, argv);
  return context.run();
}
