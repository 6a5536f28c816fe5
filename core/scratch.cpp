#include "core/scratch.h"

#include <array>
#include <cstdlib>
#include <memory>

#include "core/error.h"

namespace nine {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
struct ThreadBuffer {
  std::unique_ptr<void, Free> memory;
  size_t bytes = 0;
};
thread_local std::array<ThreadBuffer, static_cast<size_t>(Scratch::count)> t_buffers;

}  // namespace

void* detail::scratch_bytes(Scratch buffer, size_t bytes) {
  ThreadBuffer& b = t_buffers[static_cast<size_t>(buffer)];
  if (b.bytes < bytes) {
    const size_t rounded = (bytes + 4095) / 4096 * 4096;
    b.memory.reset();
    b.bytes = 0;
    b.memory.reset(std::aligned_alloc(64, rounded));
    require(b.memory != nullptr, "out of memory: no ", rounded >> 20,
            " MiB for an op's working memory; lower the batch size or the bptt length");
    b.bytes = rounded;
  }
  return b.memory.get();
}

}  // namespace nine
