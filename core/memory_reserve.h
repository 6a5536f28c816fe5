// A reserve of memory, so that a program ends with an error when memory runs out.
#pragma once

#include <atomic>

namespace nine {

namespace detail {
extern std::atomic<bool> reserve_was_used;
void fail_for_memory();
}  // namespace detail

/// Keeps memory back for the rest of the program. Memory may run out in code that cannot throw:
/// destructors of nlohmann::json allocate, and so do noexcept functions of std::filesystem. There
/// the reserve lets operator new succeed, and the next require_memory() throws. A second part
/// serves the destructors that run during an exception. The function also touches 512 KiB of the
/// calling thread's stack if the stack's limit is 1 MiB or more, because a stack that cannot grow
/// ends in a signal.
void install_memory_reserve();

/// Throws OutOfMemory once after the reserve was used. Loops over ops and over lines of text call
/// it.
inline void require_memory() {
  if (detail::reserve_was_used.load(std::memory_order_relaxed)) detail::fail_for_memory();
}

}  // namespace nine
