// The stand-in itself: that it detects errors of kernels. Not on a GPU.
#ifdef NINE_CUDA_ON_HOST
#include <doctest/doctest.h>

#include "tests/cuda_on_host/probe.h"
#include "tests/support.h"

using namespace nine::tests;

TEST_CASE("cuda on the host: what a kernel does wrong is found") {
  using namespace cuda_on_host;
  CHECK(probe_sum(true) == 256 * 255 / 2);
  CHECK(probe_sum(false) != 256 * 255 / 2);  // without its barrier
  CHECK(has(error_of([] { probe_divergent_barrier(); }), "wait at __syncthreads"));
  CHECK(has(error_of([] { probe_divergent_warp(); }), "of the 32 threads of a warp"));
  CHECK(has(error_of([] { probe_shared_overrun(); }), "wrote behind its shared memory"));
  CHECK(has(error_of([] { probe_host_address(); }), "an address of the host's memory"));
  CHECK(has(error_of([] { probe_block_overrun(); }), "wrote behind a block"));
}

TEST_CASE("cuda on the host: a graph runs again what was captured") {
  CHECK(cuda_on_host::probe_graph() == 3);
}
#endif
