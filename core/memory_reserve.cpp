#include "core/memory_reserve.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "core/error.h"

namespace nine {

std::atomic<bool> detail::reserve_was_used = false;

namespace {

// The size is above malloc's limit for separate mappings, so that free() returns the addresses to
// the system.
constexpr size_t kPart = size_t{1} << 20;
std::atomic<void*> g_first = nullptr, g_second = nullptr;

// Gives a part back. True if there was a part.
bool release(std::atomic<void*>& part) {
  void* memory = part.exchange(nullptr);
  std::free(memory);
  return memory != nullptr;
}

// The handler of operator new. It returns to let operator new try again.
void use_reserve() {
  if (release(g_first)) {
    detail::reserve_was_used = true;
    return;
  }
  if (std::uncaught_exceptions() > 0 && release(g_second)) return;
  throw std::bad_alloc();
}

// The main thread's stack grows page by page, and a signal ends the program if no address is left
// for a page. libxsmm, which writes its code at the first product of a shape, needs some 200 KB. So
// this function takes the pages now, unless there is no room for them already.
[[gnu::noinline]] void use_stack() {
  constexpr size_t kStack = size_t{512} << 10, kPage = 4096;
  rlimit most{};
  if (getrlimit(RLIMIT_STACK, &most) != 0 || most.rlim_cur < 2 * kStack) return;
  void* room = mmap(nullptr, kStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return;
  munmap(room, kStack);
  auto* pages = static_cast<volatile char*>(__builtin_alloca(kStack));
  for (size_t at = kStack; at > 0; at -= kPage) pages[at - 1] = 0;  // downwards, as a stack grows
}

}  // namespace

void install_memory_reserve() {
  use_stack();
  for (std::atomic<void*>* part : {&g_first, &g_second})
    if (*part == nullptr) *part = std::malloc(kPart);
  std::set_new_handler(use_reserve);
}

void detail::fail_for_memory() {
  if (reserve_was_used.exchange(false))
    throw OutOfMemory("out of memory: the system has no more for this program");
}

}  // namespace nine
