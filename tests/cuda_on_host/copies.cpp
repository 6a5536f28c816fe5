// Allocation and copies of the stand-in, and the check of kernels' arguments.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "core/error.h"
#include "tests/cuda_on_host/card.h"

namespace cuda_on_host {
namespace {

int64_t g_allocations = 0;

// Page-locked memory: its beginning and bytes.
std::map<const std::byte*, size_t>& locked() {
  static auto& all = *new std::map<const std::byte*, size_t>;
  return all;
}

bool is_mapped(uint64_t address) {
  constexpr uint64_t kSmallPage = 4096;
  unsigned char resident = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): passed to the kernel, never followed
  return mincore(reinterpret_cast<void*>(address / kSmallPage * kSmallPage), 1, &resident) == 0;
}

struct Rows {
  std::byte* to;
  size_t to_pitch;
  const std::byte* from;
  size_t from_pitch, width, height;
  size_t to_bytes() const { return (height - 1) * to_pitch + width; }
  size_t from_bytes() const { return (height - 1) * from_pitch + width; }
};

// Rows of one tensor may lie between those of another.
bool overlap(const Rows& c) {
  if (c.to + c.to_bytes() <= c.from || c.from + c.from_bytes() <= c.to) return false;
  for (size_t r = 0; r < c.height; ++r) {
    const std::byte* row = c.to + r * c.to_pitch;
    for (size_t s = 0; s < c.height; ++s) {
      const std::byte* other = c.from + s * c.from_pitch;
      if (row < other + c.width && other < row + c.width) return true;
    }
  }
  return false;
}

cudaError_t copy_rows(const Rows& c, cudaMemcpyKind kind, cudaStream_t stream) {
  if (c.width == 0 || c.height == 0) return cudaSuccess;
  const bool to_device = kind != cudaMemcpyDeviceToHost,
             from_device = kind != cudaMemcpyHostToDevice;
  nine::require(
      (card_of(c.to) != nullptr) == to_device && (card_of(c.from) != nullptr) == from_device,
      "a copy's direction is not that of its addresses");
  if (c.height > 1 && (c.width > c.to_pitch || c.width > c.from_pitch))
    return failed(cudaErrorInvalidValue);
  std::vector<const void*> uses;
  if (to_device) stream->require_memory("copy", c.to, c.to_bytes()), uses.push_back(c.to);
  if (from_device) stream->require_memory("copy", c.from, c.from_bytes()), uses.push_back(c.from);
  nine::require(!overlap(c), "a copy's source and destination overlap");
  const bool staged = !from_device && page_locked(c.from, c.from_bytes()),
             pageable = !staged && !(to_device && from_device) &&
                        (to_device || !page_locked(c.to, c.to_bytes()));
  nine::require(!captures() || !pageable, "a copy of pageable memory while a stream captures");
  stream->submit({"copy", std::move(uses), [=] {
                    if (from_device)
                      stream->accesses("copy", c.from, c.from_pitch, c.width, c.height, false);
                    if (to_device)
                      stream->accesses("copy", c.to, c.to_pitch, c.width, c.height, true);
                    for (size_t r = 0; r < c.height; ++r)
                      std::memcpy(c.to + r * c.to_pitch, c.from + r * c.from_pitch, c.width);
                    // Page-locked memory is staging: written anew for every copy.
                    for (size_t r = 0; staged && r < c.height; ++r)
                      std::memset(const_cast<std::byte*>(c.from) + r * c.from_pitch, 0xff, c.width);
                  }});
  // Of pageable memory a copy returns when the host's side of it is done.
  if (pageable) {
    Card& owner = *card_of(to_device ? static_cast<const void*>(c.to) : c.from);
    drain(owner);
    rethrow_late(owner);
  }
  return cudaSuccess;
}

}  // namespace

int64_t allocations() { return g_allocations; }

bool page_locked(const void* p, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(p);
  auto block = locked().upper_bound(at);
  return block != locked().begin() && (--block, at + bytes <= block->first + block->second);
}

// Any eight bytes of an argument may be an address. On x86-64 Linux programs and libraries have
// high addresses, so no size or number is mistaken for one.
void check_argument(const char* op, cudaStream_t stream, const void* bytes, size_t size,
                    std::vector<const void*>& uses) {
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(bytes) + i, 8);
    const void* pointer = nullptr;
    std::memcpy(&pointer, &word, sizeof pointer);
    if (card_of(pointer) != nullptr) {
      stream->require_memory(op, pointer, 0);
      uses.push_back(pointer);
    } else {
      const bool address = word >= 0x5500'0000'0000 && word < 0x8000'0000'0000;
      nine::require(!address || !is_mapped(word), "[", op,
                    "] a kernel was given an address of the host's memory");
    }
  }
}

}  // namespace cuda_on_host

using namespace cuda_on_host;

cudaError_t cudaMalloc(void** p, size_t bytes) {
  nine::require(!captures(), "memory was asked for while a stream captures");
  NINE_ENTER();
  void* const block = card(current_card()).memory.allocate(bytes);
  if (block == nullptr) return failed(cudaErrorMemoryAllocation);
  *p = block;
  ++g_allocations;
  return cudaSuccess;
}
// As CUDA's, waits for the card. It is called by destructors: what it finds is thrown by the next
// wait.
cudaError_t cudaFree(void* p) {
  if (p == nullptr) return cudaSuccess;
  Card* const owner = card_of(p);
  const auto wrong = [](Card& c, const std::string& what) {
    if (!c.late) c.late = std::make_exception_ptr(nine::Error(what));
  };
  if (owner == nullptr) {
    wrong(card(current_card()), "what was freed is the host's memory");
    return failed(cudaErrorInvalidValue);
  }
  if (captures()) wrong(*owner, "memory was freed while a stream captures");
  drain(*owner);
  if (const std::string what = owner->memory.release(p); !what.empty()) wrong(*owner, what);
  NINE_ENTER();
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, size_t bytes) {
  nine::require(!captures(), "memory was asked for while a stream captures");
  NINE_ENTER();
  *p = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (*p == nullptr) return failed(cudaErrorMemoryAllocation);
  locked()[static_cast<std::byte*>(*p)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* p) {
  for (int i = 0; i < kCards; ++i) drain(card(i));
  locked().erase(static_cast<std::byte*>(p));
  std::free(p);
  NINE_ENTER();
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  NINE_ENTER();
  *total = CardMemory::kBytes;
  *free = card(current_card()).memory.free_bytes();
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  NINE_ENTER();
  return copy_rows(
      {static_cast<std::byte*>(to), bytes, static_cast<const std::byte*>(from), bytes, bytes, 1},
      kind, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  NINE_ENTER();
  constexpr size_t kMostPitch = (size_t{1} << 31) - 1;  // a GPU's limit
  if (to_pitch > kMostPitch || from_pitch > kMostPitch) return failed(cudaErrorInvalidValue);
  return copy_rows({static_cast<std::byte*>(to), to_pitch, static_cast<const std::byte*>(from),
                    from_pitch, width, height},
                   kind, stream);
}
cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  NINE_ENTER();
  if (width == 0 || height == 0) return cudaSuccess;
  if (width > pitch) return failed(cudaErrorInvalidValue);
  stream->require_memory("memset", p, (height - 1) * pitch + width);
  stream->submit({"memset", {p}, [=] {
                    stream->accesses("memset", p, pitch, width, height, true);
                    for (size_t r = 0; r < height; ++r)
                      std::memset(static_cast<std::byte*>(p) + r * pitch, value, width);
                  }});
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
  return cudaMemset2DAsync(p, bytes, value, bytes, 1, stream);
}
