#include "core/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace nine {

void prefer_huge_pages(void* p, size_t bytes) {
  if (bytes < 2 * kHugePage) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(p);
  const uintptr_t begin = (address + page - 1) / page * page, end = (address + bytes) / page * page;
  madvise(static_cast<char*>(p) + (begin - address), end - begin, MADV_HUGEPAGE);
}

}  // namespace nine
