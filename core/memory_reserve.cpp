#include "core/memory_reserve.h"

#include <cstdlib>
#include <exception>
#include <new>

#include "core/error.h"

namespace nine {

std::atomic<bool> detail::reserve_was_used = false;

namespace {

// Above malloc's limit for blocks of their own, so that free() gives the addresses back.
constexpr size_t kPart = size_t{1} << 20;
std::atomic<void*> g_first = nullptr, g_second = nullptr;

// Whether there was something to give back.
bool release(std::atomic<void*>& part) {
  void* memory = part.exchange(nullptr);
  std::free(memory);
  return memory != nullptr;
}

// The handler of operator new: returns to let it try again.
void use_reserve() {
  if (release(g_first)) {
    detail::reserve_was_used = true;
    return;
  }
  if (std::uncaught_exceptions() > 0 && release(g_second)) return;
  throw std::bad_alloc();
}

}  // namespace

void install_memory_reserve() {
  for (std::atomic<void*>* part : {&g_first, &g_second})
    if (*part == nullptr) *part = std::malloc(kPart);
  std::set_new_handler(use_reserve);
}

void detail::fail_for_memory() {
  if (reserve_was_used.exchange(false))
    throw OutOfMemory("out of memory: the system has no more for this program");
}

}  // namespace nine
