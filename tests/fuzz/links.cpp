// The fuzzers' sources with the ordinary compiler: that they link is the test, an empty input the
// proof that they run.
#include "tests/fuzz/targets.h"

int main() {
  for (const auto& target : nine::tests::kFuzzTargets) target.second("");
}
