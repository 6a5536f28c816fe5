// The CPU's op table, and the tables of all devices.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/dispatch.h"
#include "core/error.h"
#include "core/huge_pages.h"
#include "core/op_table.h"
#include "core/row_loops.h"

NINE_CPU_TABLE(nine::OpTable)
NINE_CPU_TABLE(nine::cpu::RowLoops<float>)
NINE_CPU_TABLE(nine::cpu::RowLoops<double>)

namespace nine {
namespace cpu {
namespace {

// Returns how many bytes this process may still map under a limit of its address space (ulimit -v).
// It leaves a quarter for other uses. Returns SIZE_MAX without a limit.
size_t address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const size_t used = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? (limit.rlim_cur - used) / 4 * 3 : 0;
}

// Returns the machine's memory, or less if a container or a limit of the process allows less.
size_t available(int) {
  size_t bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                 static_cast<size_t>(sysconf(_SC_PAGESIZE)),
         limit = 0;
  std::ifstream cgroup("/sys/fs/cgroup/memory.max");  // without a limit the file holds "max", which
                                                      // is not a number
  if (cgroup >> limit) bytes = std::min(bytes, limit);
  return std::min(bytes, address_space_left());
}

// Puts large tensors on huge pages.
void* allocate(size_t bytes, int) {
  const size_t align = bytes >= 2 * kHugePage ? kHugePage : 64;
  const size_t rounded = (bytes + align - 1) / align * align;
  void* p = std::aligned_alloc(align, rounded);
  if (p == nullptr)
    throw OutOfMemory(concat("out of memory: ", bytes_text(bytes),
                             " are needed for a tensor and the machine has ",
                             bytes_text(available(0)), "; a smaller model needs less"));
  if (align == kHugePage) prefer_huge_pages(p, rounded);
  return p;
}
void release(void* p, int) { std::free(p); }
void clear(void* p, size_t bytes, int) { std::memset(p, 0, bytes); }

void copy_bytes(const View& x, const View& y) {
  const size_t element = size_of(x.dtype), row = static_cast<size_t>(x.cols()) * element;
  for (int64_t r = 0; r < x.rows(); ++r)
    std::memcpy(static_cast<std::byte*>(y.data) + static_cast<size_t>(r * y.ld) * element,
                static_cast<const std::byte*>(x.data) + static_cast<size_t>(r * x.ld) * element,
                row);
}

OpTable make_table() {
  OpTable table{.allocate = allocate,
                .release = release,
                .available = available,
                .clear = clear,
                .copy_bytes = copy_bytes};
  // Calls core/instruction_set.cpp, because every program must link the check in it that runs
  // before main().
  install_best(table);
  return table;
}

}  // namespace

template <class T>
const RowLoops<T>& row_loops() {
  static const RowLoops<T> loops = [] {
    RowLoops<T> best{};
    install_best(best);
    return best;
  }();
  return loops;
}
template const RowLoops<float>& row_loops<float>();
template const RowLoops<double>& row_loops<double>();

}  // namespace cpu

namespace {
OpTable* tables() {
  static OpTable all[kDeviceKinds] = {cpu::make_table(), {}};
  return all;
}
}  // namespace

const OpTable& op_table(Device device) {
  const OpTable& t = tables()[static_cast<int>(device.kind)];
  require(t.allocate != nullptr, "device ", device,
          " cannot be used: this program has not installed a backend for it; call "
          "nine::install_cuda() first");
  return t;
}

void install_op_table(DeviceKind kind, const OpTable& table) {
  tables()[static_cast<int>(kind)] = table;
}

}  // namespace nine
