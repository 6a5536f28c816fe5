#include "tests/cuda_on_host/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "core/error.h"
#include "tests/cuda_on_host/access.h"

namespace cuda_on_host {
namespace {

constexpr size_t kPage = size_t{2} << 20, kAlign = 512;

// With the gap behind it.
size_t rounded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign + kAlign; }

}  // namespace

CardMemory::CardMemory() {
  // On a boundary of huge pages: what protects them then walks few entries.
  void* p =
      mmap(nullptr, kBytes + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  nine::require(p != MAP_FAILED, "no address space for the stand-in of a GPU's memory");
  base_ = static_cast<std::byte*>(p) + (kPage - reinterpret_cast<uintptr_t>(p) % kPage) % kPage;
  madvise(base_, kBytes, MADV_HUGEPAGE);
  if (sees_accesses()) shadow_ = std::make_unique<Shadow>(base_, kBytes);
}

void CardMemory::protect(int how) const {
  if (used_ > 0) mprotect(base_, (used_ + kPage - 1) / kPage * kPage, how);
}
CardMemory::Open::Open(CardMemory& memory) : memory_(memory) {
  if (memory_.opened_++ == 0) memory_.protect(PROT_READ | PROT_WRITE);
}
CardMemory::Open::~Open() {
  if (--memory_.opened_ == 0) memory_.protect(PROT_NONE);
}

bool CardMemory::holds(const void* p, size_t bytes) const {
  const auto at = static_cast<size_t>(static_cast<const std::byte*>(p) - base_);
  auto block = live_.upper_bound(at);
  if (block == live_.begin()) return false;
  --block;
  return at + bytes <= block->first + block->second;
}

void CardMemory::require_access(const char* op, const void* p, size_t pitch, size_t width,
                                size_t rows, Access access) const {
  const auto begin = reinterpret_cast<uintptr_t>(p);
  for (size_t r = 0; shadow_ && r < rows; ++r)
    if (const std::string wrong = shadow_->whole_access(begin + r * pitch, width, access);
        !wrong.empty())
      nine::fail("[", op, "] ", wrong);
}

void* CardMemory::allocate(size_t bytes) {
  const size_t size = rounded(bytes);
  const auto found =
      std::find_if(free_.begin(), free_.end(), [&](const auto& f) { return f.second >= size; });
  const size_t at = found == free_.end() ? used_ : found->first;
  if (at + size > kBytes) return nullptr;
  if (found != free_.end()) {
    const size_t rest = found->second - size;
    free_.erase(found);
    if (rest > 0) free_[at + size] = rest;
  }
  used_ = std::max(used_, at + size);
  live_[at] = bytes;
  const Open open(*this);
  std::memset(base_ + at, 0xff, size);
  if (shadow_) shadow_->given(base_ + at, bytes);
  return base_ + at;
}

std::string CardMemory::release(void* p) {
  const auto block = live_.find(static_cast<size_t>(static_cast<std::byte*>(p) - base_));
  if (block == live_.end()) return "what was freed is no block of device memory";
  std::string wrong;
  {
    const Open open(*this);
    const auto* gap = static_cast<std::byte*>(p) + block->second;
    if (!std::all_of(gap, gap + kAlign, [](std::byte b) { return b == std::byte{0xff}; }))
      wrong = nine::concat("a kernel wrote behind a block of ", block->second, " bytes");
    std::memset(p, 0xff, block->second);
    if (shadow_) shadow_->taken(p, block->second);
  }
  size_t at = block->first, bytes = rounded(block->second);
  live_.erase(block);
  const auto next = free_.lower_bound(at);
  if (next != free_.end() && next->first == at + bytes) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(at);
  if (after != free_.begin() && std::prev(after)->first + std::prev(after)->second == at) {
    std::prev(after)->second += bytes;
  } else {
    free_[at] = bytes;
  }
  return wrong;
}

}  // namespace cuda_on_host
