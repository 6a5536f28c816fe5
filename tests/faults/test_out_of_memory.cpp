// Each allocation of a short run of each program fails once: the program ends with an error and
// exit code 1 (or does without that memory), never by a signal, and leaves nothing half-written.
#include <doctest/doctest.h>

#include "tests/faults/failing_calls.h"

namespace nine::tests::test_out_of_memory {
namespace {

// The last two are OpenMP's own words.
const Failing kAllocation{.kind = "allocation",
                          .reasons = {"out of memory", "Cannot allocate memory",
                                      "libgomp: Out of memory", "libgomp: Thread creation failed"},
                          .least_calls = 100,
                          .continued = 40};

}  // namespace

TEST_CASE("out of memory: lm_train" * doctest::test_suite("check")) {
  check_every_call(ShortRuns().lm_train(), kAllocation, true);
}
TEST_CASE("out of memory: mt_train" * doctest::test_suite("check")) {
  check_every_call(ShortRuns().mt_train(), kAllocation, true);
}
TEST_CASE("out of memory: what uses models and text" * doctest::test_suite("check")) {
  const ShortRuns runs;
  for (const ShortRun& run : runs.users()) check_every_call(run, kAllocation, true);
}

}  // namespace nine::tests::test_out_of_memory
