// Memory, copies, streams and graphs of the stand-in.
#include "tests/cuda_on_host/memory.h"

#include <sys/mman.h>

#include <map>
#include <utility>

#include "core/error.h"

namespace cuda_on_host {
namespace {

constexpr size_t kBytes = size_t{1} << 30, kPage = size_t{2} << 20, kAlign = 512;

struct Pool {
  std::byte* base = nullptr;
  size_t used = 0;                      // to the end of the highest block there ever was
  std::map<size_t, size_t> live, free;  // offset -> bytes
  int access = 0;
  cuda_on_host_graph* capture = nullptr;
  int64_t graphs = 0;

  Pool() {
    // On a boundary of huge pages: what protects them then walks few entries.
    void* p = mmap(nullptr, kBytes + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    nine::require(p != MAP_FAILED, "no address space for the stand-in of a GPU's memory");
    base = static_cast<std::byte*>(p) + (kPage - reinterpret_cast<uintptr_t>(p) % kPage) % kPage;
    madvise(base, kBytes, MADV_HUGEPAGE);
  }
  void protect(int how) const {
    if (used > 0) mprotect(base, (used + kPage - 1) / kPage * kPage, how);
  }
};
Pool& pool() {
  // Never destroyed: tensors that tests keep in statics are freed into it at the end.
  static Pool& p = *new Pool;
  return p;
}

size_t offset_of(const void* p) {
  return static_cast<size_t>(static_cast<const std::byte*>(p) - pool().base);
}

// Whether `bytes` from p on lie within one block that is there.
void check_range(const void* p, size_t bytes) {
  const size_t at = offset_of(p);
  auto block = pool().live.upper_bound(at);
  nine::require(
      block != pool().live.begin() && (--block, at + bytes <= block->first + block->second),
      "a copy of ", bytes, " bytes leaves its block of device memory");
}

}  // namespace

DeviceAccess::DeviceAccess() {
  if (pool().access++ == 0) pool().protect(PROT_READ | PROT_WRITE);
}
DeviceAccess::~DeviceAccess() {
  if (--pool().access == 0) pool().protect(PROT_NONE);
}

bool is_device(const void* p) { return p >= pool().base && p < pool().base + kBytes; }
int64_t graphs_launched() { return pool().graphs; }

void submit(std::function<void()> work) {
  if (pool().capture != nullptr) {
    pool().capture->work.push_back(std::move(work));
  } else {
    work();
  }
}

bool is_mapped(uint64_t address) {
  constexpr uint64_t kSmallPage = 4096;
  unsigned char resident = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): passed to the kernel, never followed
  return mincore(reinterpret_cast<void*>(address / kSmallPage * kSmallPage), 1, &resident) == 0;
}

// Error: any eight bytes of a kernel's argument are an address of this process outside of device
// memory. On x86-64 Linux programs and libraries have high addresses, so no size or number is
// mistaken for one.
void check_argument(const char* op, const void* bytes, size_t size) {
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(bytes) + i, 8);
    const bool address = word >= 0x5500'0000'0000 && word < 0x8000'0000'0000;
    const void* pointer = nullptr;
    std::memcpy(&pointer, &word, sizeof pointer);
    nine::require(!address || is_device(pointer) || !is_mapped(word), "[", op,
                  "] a kernel was given an address of the host's memory");
  }
}

}  // namespace cuda_on_host

using namespace cuda_on_host;

const char* cudaGetErrorString(cudaError_t e) {
  return e == cudaErrorMemoryAllocation ? "out of memory" : "invalid value";
}
cudaError_t cudaGetDeviceCount(int* n) {
  *n = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int i) { return i == 0 ? cudaSuccess : cudaErrorInvalidValue; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  *s = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  nine::require(pool().capture == nullptr, "a stream that captures cannot be waited for");
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** p, size_t bytes) {
  Pool& m = pool();
  nine::require(m.capture == nullptr, "memory was asked for while a stream captures");
  const size_t rounded =
      (bytes + kAlign - 1) / kAlign * kAlign + kAlign;  // a gap behind each block
  size_t at = m.used;
  for (auto it = m.free.begin(); it != m.free.end(); ++it) {
    if (it->second < rounded) continue;
    at = it->first;
    const size_t rest = it->second - rounded;
    m.free.erase(it);
    if (rest > 0) m.free[at + rounded] = rest;
    break;
  }
  if (at + rounded > kBytes) return cudaErrorMemoryAllocation;
  m.used = std::max(m.used, at + rounded);
  m.live[at] = bytes;
  *p = m.base + at;
  const DeviceAccess access;
  std::memset(*p, 0xff, rounded);
  return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  Pool& m = pool();
  const auto block = m.live.find(offset_of(p));
  nine::require(block != m.live.end(), "what was freed is no block of device memory");
  {
    const DeviceAccess access;
    const auto* gap = static_cast<std::byte*>(p) + block->second;
    for (size_t i = 0; i < kAlign; ++i)
      nine::require(gap[i] == std::byte{0xff}, "a kernel wrote behind a block of ", block->second,
                    " bytes");
  }
  size_t at = block->first, bytes = (block->second + kAlign - 1) / kAlign * kAlign + kAlign;
  m.live.erase(block);
  const auto next = m.free.lower_bound(at);
  if (next != m.free.end() && next->first == at + bytes) {
    bytes += next->second;
    m.free.erase(next);
  }
  const auto before = m.free.lower_bound(at);
  if (before != m.free.begin() && std::prev(before)->first + std::prev(before)->second == at) {
    std::prev(before)->second += bytes;
  } else {
    m.free[at] = bytes;
  }
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, size_t bytes) {
  *p = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *p != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = kBytes;
  *free = kBytes - pool().used;
  return cudaSuccess;
}

static cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                             size_t width, size_t height, cudaMemcpyKind kind) {
  if (width == 0 || height == 0) return cudaSuccess;
  const bool to_device = kind != cudaMemcpyDeviceToHost,
             from_device = kind != cudaMemcpyHostToDevice;
  nine::require(is_device(to) == to_device && is_device(from) == from_device,
                "a copy's direction is not that of its addresses");
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
  if (to_device) check_range(to, (height - 1) * to_pitch + width);
  if (from_device) check_range(from, (height - 1) * from_pitch + width);
  submit([=] {
    const DeviceAccess access;
    for (size_t r = 0; r < height; ++r)
      std::memmove(static_cast<std::byte*>(to) + r * to_pitch,
                   static_cast<const std::byte*>(from) + r * from_pitch, width);
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  return copy_rows(to, bytes, from, bytes, bytes, 1, kind);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t) {
  constexpr size_t kMostPitch = (size_t{1} << 31) - 1;  // a GPU's limit
  if (to_pitch > kMostPitch || from_pitch > kMostPitch) return cudaErrorInvalidValue;
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t) {
  check_range(p, bytes);
  submit([=] {
    const DeviceAccess access;
    std::memset(p, value, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  nine::require(pool().capture == nullptr, "a stream captures already");
  pool().capture = new cuda_on_host_graph;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = std::exchange(pool().capture, nullptr);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new cuda_on_host_graph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
  ++pool().graphs;
  for (const auto& work : exec->work) work();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
