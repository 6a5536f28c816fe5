#include "core/scratch.h"

#include <pthread.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace nine {
namespace {

struct ThreadBuffer {
  void* memory;
  size_t bytes;
};
using ThreadBuffers = std::array<ThreadBuffer, static_cast<size_t>(Scratch::count)>;
// Has no destructor, because the C library ends the program if it has no memory to register one. A
// key of pthreads, which needs no such memory, frees the buffers of a thread that ends.
thread_local ThreadBuffers t_buffers;

pthread_key_t cleanup_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    const int error = pthread_key_create(&made, [](void* buffers) {
      for (const ThreadBuffer& b : *static_cast<ThreadBuffers*>(buffers)) std::free(b.memory);
    });
    require(error == 0, "working memory: no key for the data of threads: ", std::strerror(error));
    return made;
  }();
  return key;
}

}  // namespace

void* detail::scratch_bytes(Scratch buffer, size_t bytes) {
  ThreadBuffer& b = t_buffers[static_cast<size_t>(buffer)];
  if (b.bytes < bytes) {
    const size_t rounded = (bytes + 4095) / 4096 * 4096;
    std::free(b.memory);
    b = {std::aligned_alloc(64, rounded), rounded};
    if (b.memory == nullptr || pthread_setspecific(cleanup_key(), &t_buffers) != 0) {
      std::free(std::exchange(b, {}).memory);
      throw OutOfMemory(concat("out of memory: there are no ", bytes_text(rounded),
                               " for an op's working memory; smaller batches need less"));
    }
  }
  return b.memory;
}

}  // namespace nine
