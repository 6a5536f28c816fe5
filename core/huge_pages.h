// Huge pages for large blocks of memory.
#pragma once

#include <cstddef>

namespace nine {

/// The bytes of a huge page.
inline constexpr size_t kHugePage = size_t{2} << 20;

/// Asks the operating system to back the memory [p, p + bytes) with huge pages. Call it before the
/// first use of the memory. The first use then takes far fewer page faults, and later uses take
/// fewer address translations. Does nothing if `bytes` is below 2 kHugePage. Leaves out a page at
/// either end that also holds other memory. The system may ignore the request.
void prefer_huge_pages(void* p, size_t bytes);

}  // namespace nine
