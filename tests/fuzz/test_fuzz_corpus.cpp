// The fuzzers' corpus, and every crash that they ever found, in every build: tests/fuzz.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/fuzz/targets.h"
#include "tests/support/programs.h"

namespace nine::tests::test_fuzz_corpus {

TEST_CASE("fuzz corpus: each target takes its inputs") {
  namespace fs = std::filesystem;
  for (const auto& target : nine::tests::kFuzzTargets) {
    int inputs = 0;
    for (const auto& entry :
         fs::directory_iterator(fs::path(NINE_SOURCE_DIR) / "tests/fuzz/corpus" / target.first)) {
      CHECK_NOTHROW_MESSAGE(target.second(nine::tests::slurp(entry.path())), entry.path().string());
      ++inputs;
    }
    CHECK_MESSAGE(inputs > 2, target.first);
  }
}

}  // namespace nine::tests::test_fuzz_corpus
