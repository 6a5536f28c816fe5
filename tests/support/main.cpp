// The test program's main: doctest with the backends installed.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "kernels/install_cuda.h"
#include "tests/support/skip.h"

int main(int argc, char** argv) {
  nine::install_cuda();
  doctest::Context context;
  context.applyCommandLine(argc, argv);
  const int status = context.run();
  return status == 0 && nine::tests::skipped() > 0 ? nine::tests::kSkipped : status;
}
