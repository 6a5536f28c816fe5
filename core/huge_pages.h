// Huge pages for large memory.
#pragma once

#include <cstddef>

namespace nine {

/// The bytes of a huge page.
inline constexpr size_t kHugePage = size_t{2} << 20;

/// Asks the kernel for huge pages under `bytes` bytes of memory at p that nobody has used yet. Then
/// the first use takes far fewer page faults, and later uses fewer address translations. Changes
/// nothing for less than two huge pages, for pages that other memory shares, or where the kernel
/// refuses.
void prefer_huge_pages(void* p, size_t bytes);

}  // namespace nine
