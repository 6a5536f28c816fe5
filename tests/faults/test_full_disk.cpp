// Each write of a short run of each program fails: the program ends with an error that says why and
// exit code 1; what a run keeps is whole, and of other results there is a beginning at most; with
// room, a training run goes on to the same bits.
// So does one that was killed before any of its writes.
#include <doctest/doctest.h>

#include "tests/faults/failing_calls.h"

namespace nine::tests::test_full_disk {
namespace {

Failing full(const char* kind) {
  return {.kind = kind,
          .reasons = {"no space left on device", "No space left on device", "is the disk full?"},
          .cuts_results = true};
}

}  // namespace

TEST_CASE("full disk: lm_train, each write" * doctest::test_suite("check")) {
  const ShortRuns runs;
  for (const char* kind : {"write", "disk"}) check_every_call(runs.lm_train(), full(kind), false);
}
TEST_CASE("full disk: mt_train, each write" * doctest::test_suite("check")) {
  const ShortRuns runs;
  for (const char* kind : {"write", "disk"}) check_every_call(runs.mt_train(), full(kind), false);
}
TEST_CASE("full disk: what uses models and text, each write" * doctest::test_suite("check")) {
  const ShortRuns runs;
  for (const ShortRun& run : runs.users())
    for (const char* kind : {"write", "disk"}) check_every_call(run, full(kind), false);
}
TEST_CASE("killed before each write: lm_train, mt_train" * doctest::test_suite("check")) {
  const ShortRuns runs;
  for (const ShortRun& run : {runs.lm_train(), runs.mt_train()})
    check_every_call(run, {.kind = "kill", .reasons = {}}, false);
}

}  // namespace nine::tests::test_full_disk
