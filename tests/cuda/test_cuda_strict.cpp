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

#include "tests/cuda/small_training.h"
#include "tests/cuda_on_host/access.h"
#include "tests/cuda_on_host/card.h"
#include "tests/cuda_on_host/probe.h"
#include "tests/support.h"

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
  train_on(kGpu, "lin", DType::float32, 2,
           {.arch = LanguageArch::transformer, .hidden = 63, .words = 200});
}

}  // namespace

TEST_CASE("cuda strict: an access outside of a block of memory is found") {
  if (!cuda_on_host::sees_accesses()) return;
  CHECK(has(error_of([] { cuda_on_host::probe_block_overrun(); }),
            "writes 1 bytes outside of its memory"));
}

TEST_CASE("cuda strict: sectors and loads of every kernel are those of the table, or better") {
  if (!cuda_on_host::sees_accesses()) return;
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
  for (const auto& [kernel, l] : cuda_on_host::loads()) {
    if (l.least == 0) continue;
    CAPTURE(kernel);
    const auto found = table.find(kernel);
    const Row most = found == table.end() ? kNew : found->second;
    CHECK(l.sectors_per_least() <= most.sectors * kSlack);
    CHECK(l.loads_per_run() * kSlack >= std::min(most.loads, kEnough));
  }
}
#endif
