// What the kernels' accesses to memory cost, in the strict build of the stand-in: how many sectors
// of a cache line a warp's load touches beside the fewest that its bytes fill, and how many loads a
// thread makes between stores and barriers, across which none is moved.
#ifdef NINE_CUDA_ON_HOST
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>

#include "cuda/cuda.h"
#include "tests/cuda/small_training.h"
#include "tests/cuda_on_host/access.h"
#include "tests/cuda_on_host/card.h"
#include "tests/cuda_on_host/probe.h"
#include "tests/support/support.h"

using namespace nine;
using namespace nine::tests;

namespace {

struct Row {
  double sectors = 0, loads = 0;
};

// "sectors loads kernel", a kernel a line.
std::map<std::string, Row> read_table(const std::string& file) {
  std::map<std::string, Row> rows;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream text(line);
    Row row;
    std::string kernel;
    if (line.starts_with("#") || !(text >> row.sectors >> row.loads)) continue;
    std::getline(text >> std::ws, kernel);
    rows[kernel] = row;
  }
  return rows;
}

void write_table(const std::string& file) {
  std::ofstream out(file);
  out << "# sectors touched / fewest, loads between stores and barriers, kernel: "
         "tests/cuda/test_cuda_strict.cpp\n"
      << std::fixed << std::setprecision(2);
  for (const auto& [kernel, l] : cuda_on_host::loads())
    if (l.least > 0)
      out << l.sectors_per_least() << " " << l.loads_per_run() << " " << kernel << "\n";
}

void train_all() {
  for (const char* head : {"lin", "mix:2*lin,rbf", "ssg", "mog:form=mixture", "pow:p=1", "wav"})
    train_on(kGpu, head, DType::float32, 2, {.hidden = 64, .words = 200});
  cuda::use_side_by_side(false);  // a kernel for each time step
  train_on(kGpu, "lin", DType::float32, 2, {.hidden = 64, .words = 200});
  cuda::use_side_by_side(true);
  train_on(kGpu, "lin", DType::float32, 2,
           {.arch = LanguageArch::transformer, .hidden = 63, .words = 200});
}

}  // namespace

TEST_CASE("cuda strict: an access outside of a block of memory is found") {
  using namespace cuda_on_host;
  REQUIRE(sees_accesses());
  CHECK(has(error_of([] { probe_block_overrun(); }),
            "thread 0 of block 0 writes 1 bytes outside of its memory, 0 bytes behind a block of "
            "100"));
  const auto of_pool = [](int64_t at, bool store) {
    return error_of([&] { probe_pool(at, store); });
  };
  CHECK(of_pool(0, true).empty());
  CHECK(of_pool(99, true).empty());
  CHECK(has(of_pool(100, true),
            "writes 4 bytes outside of its memory, 0 bytes behind a block of 400"));
  CHECK(has(of_pool(163, true), "outside of its memory"));  // the zone's last
  CHECK(has(of_pool(-1, false), "reads 4 bytes outside of its memory, 4 bytes before a block of"));
  CHECK(of_pool(98, false).empty());
  CHECK(error_of([] { probe_scratch(99); }).empty());
  CHECK(has(error_of([] { probe_scratch(100); }), "0 bytes behind a block of 400"));
}

TEST_CASE("cuda strict: what has gone back to a pool must not be used") {
  using namespace cuda_on_host;
  REQUIRE(sees_accesses());
  for (const char* what : {"scope", "block", "saved", "reset"}) {
    CAPTURE(what);
    CHECK(
        has(error_of([&] { probe_released_pool(what); }), "writes 4 bytes outside of its memory"));
  }
  CHECK(has(error_of([] { probe_stale_pool_replay(); }), "outside of its memory"));
}

TEST_CASE("cuda strict: what nobody wrote must not be read") {
  using namespace cuda_on_host;
  REQUIRE(sees_accesses());
  for (const char* what : {"kernel", "copy", "product", "shared"}) {
    CAPTURE(what);
    CHECK(has(error_of([&] { probe_unwritten(what); }), "bytes that nobody wrote, at byte"));
  }
}

TEST_CASE("cuda strict: blocks of a launch must not meet in a word, but atomically") {
  using namespace cuda_on_host;
  REQUIRE(sees_accesses());
  const auto said = [](const char* what) { return error_of([&] { probe_blocks(what); }); };
  for (const char* what : {"read", "atomic", "apart"}) CHECK(said(what).empty());
  for (const char* what : {"write", "read write", "write read", "atomic write"}) {
    CAPTURE(what);
    const std::string text = said(what);
    CHECK_MESSAGE(has(text, " a word, at byte 0 of 64"), text);
    CHECK(has(text, "block 0"));
    CHECK(has(text, "block 1"));
    CHECK(has(text, "[probe int*, "));  // the kernel
  }
}

TEST_CASE("cuda strict: blocks may meet in a word with a barrier of all blocks in between") {
  using namespace cuda_on_host;
  REQUIRE(sees_accesses());
  CHECK(error_of([] { probe_grid("barrier"); }).empty());
  const std::string text = error_of([] { probe_grid("none"); });
  CHECK_MESSAGE(has(text, " a word, at byte "), text);
  CHECK(has(text, "block 0 "));
}

TEST_CASE("cuda strict: threads of a block meet in a word only with a barrier in between") {
  using namespace cuda_on_host;
  REQUIRE(sees_accesses());
  const auto said = [](Between between, int apart) {
    std::string text;  // one that nobody wrote, if the reader comes first
    for (uint64_t seed = 1; seed < 40 && !has(text, "without a barrier"); ++seed) {
      set_seed(seed);
      text = error_of([&] { probe_threads(between, apart); });
    }
    return text;
  };
  CHECK(has(said(Between::nothing, 1), "threads 0 (which writes) and 1 (which reads) of block 0"));
  CHECK(has(said(Between::shuffle, 1), "without a barrier"));
  CHECK(said(Between::warp, 1).empty());
  CHECK(has(said(Between::warp, 33), "without a barrier"));
  CHECK(said(Between::block, 33).empty());
}

TEST_CASE("cuda strict: sectors and loads of every kernel are those of the table, or better") {
  REQUIRE(cuda_on_host::sees_accesses());
  const std::string file = NINE_SOURCE_DIR "/tests/cuda/loads.txt";
  cuda_on_host::set_seed(1);  // the blocks that are counted
  cuda_on_host::count_loads(true);
  train_all();
  cuda_on_host::count_loads(false);
  if (std::getenv("NINE_WRITE_TABLE") != nullptr) write_table(file);
  const std::map<std::string, Row> table = read_table(file);
  CHECK(table.size() > 20);
  constexpr double kSlack = 1.1,
                   kEnough = 4;  // loads: a kernel may make fewer than before of many
  constexpr Row kNew{2, 1};      // of a kernel without a line: side by side, from any address
  for (const auto& [name, l] : cuda_on_host::loads()) {
    if (l.least == 0) continue;
    const std::string& kernel = name;  // clang 14 has no captures of bindings
    CAPTURE(kernel);
    const auto found = table.find(kernel);
    const Row most = found == table.end() ? kNew : found->second;
    CHECK(l.sectors_per_least() <= most.sectors * kSlack);
    CHECK(l.loads_per_run() * kSlack >= std::min(most.loads, kEnough));
  }
}
#endif
