// Counts on disk are those of one table in memory.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include "data/count_runs.h"
#include "data/word_counts.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_count_runs {
namespace {

std::map<std::string, int64_t> all_of(CountRuns& runs) {
  std::map<std::string, int64_t> all;
  std::string before;
  runs.for_each([&](std::string_view word, int64_t count) {
    CHECK((all.empty() || before < word));
    before = word;
    all[before] = count;
  });
  return all;
}

}  // namespace

TEST_CASE("count runs: the sums of all tables, in order") {
  const TemporaryDirectory dir;
  std::mt19937_64 random(1);
  for (int tables : {0, 1, 3, 64, 65, 700}) {
    CAPTURE(tables);
    CountRuns runs(dir.path(), 1);
    std::map<std::string, int64_t> expected;
    for (int table = 0; table < tables; ++table) {
      WordCounts counts;
      for (uint64_t n = random() % 50; n > 0; --n) {
        std::string word;
        // Some words are longer than the buffers.
        for (uint64_t size = random() % 40 == 0 ? 5000 : random() % 4; size > 0; --size)
          word += static_cast<char>(random() % 3 == 0 ? 0 : 255 - random() % 2);
        const auto count = static_cast<int64_t>(random() >> 20);
        counts.add(word, count);
        expected[word] += count;
      }
      runs.add(counts);
    }
    CHECK(std::filesystem::is_empty(dir.path()));
    CHECK(all_of(runs) == expected);
    CHECK(all_of(runs) == expected);  // again
  }
}

TEST_CASE("count runs: what fails is named") {
  const TemporaryDirectory dir;
  const std::string missing = dir / "missing", file = dir.write("file", "");
  CHECK(has(error_of([&] { CountRuns(missing, 1); }),
            "cannot make a temporary file of counts in " + missing +
                ": No such file or directory; name a folder that takes large files"));
  CHECK(has(error_of([&] { CountRuns(file, 1); }), "Not a directory"));

  CountRuns runs(dir.path(), 1);
  WordCounts counts;
  counts.add("a", int64_t{1} << 62);
  runs.add(counts);
  CHECK(all_of(runs).at("a") == int64_t{1} << 62);
  runs.add(counts);
  CHECK(has(error_of([&] { all_of(runs); }),
            "the counts of 'a' add up to more than a number of 64 bits holds"));

  // A file that may not grow stands for a full disk.
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{4096, limit.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  counts.add(std::string(10'000, 'b'));
  const std::string error = error_of([&] { runs.add(counts); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(has(error, "cannot write a temporary file of counts in " + dir.path().string() +
                       ": File too large"));
}

}  // namespace nine::tests::test_count_runs
